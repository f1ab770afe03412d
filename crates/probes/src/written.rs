//! Values of options that several probes have.

use serde::de::value::{Error, StrDeserializer};
use serde::de::{DeserializeOwned, IntoDeserializer};
use tiermark_model::{Bytes, IdSet, parse_nodes, parse_size};

/// Reads words as a document has them; `otherwise` says what to write instead.
pub(crate) fn word<T: DeserializeOwned>(
    otherwise: &'static str,
) -> impl Fn(&str) -> Result<T, &'static str> + Clone + Send + Sync + 'static {
    move |text| {
        let word: StrDeserializer<'_, Error> = text.into_deserializer();
        T::deserialize(word).map_err(|_| otherwise)
    }
}

/// Nodes, or none of them for the word `all`.
pub(crate) fn nodes_or_all(text: &str) -> Result<IdSet, String> {
    if text == "all" { Ok(IdSet::default()) } else { parse_nodes(text) }
}

/// Bytes per second, as in 9.6GB/s.
pub(crate) fn rate(text: &str) -> Result<f64, String> {
    let size = text.strip_suffix("/s").ok_or_else(|| format!("'{text}' is no rate; write one as in 9.6GB/s"))?;
    match parse_size(size).map_err(|e| e.why)? {
        Bytes(0) => Err("a rate is above zero, as in 9.6GB/s".into()),
        Bytes(bytes) => Ok(bytes as f64),
    }
}

#[cfg(test)]
mod tests {
    use clap::{Args, Command};
    use tiermark_model::MIB;

    use super::*;
    use crate::bandwidth::{BandwidthParams, DataKind, ThreadCount};
    use crate::c2c::{C2cParams, Sample};
    use crate::loaded::LoadedParams;
    use crate::matrix::{Buffer, MatrixParams, Origin, Weights};
    use crate::scan::ScanParams;

    fn read<P: Args>(words: &[&str]) -> Result<P, String> {
        let command = P::augment_args(Command::new("probe").no_binary_name(true));
        let matches = command.try_get_matches_from(words).map_err(|error| error.to_string())?;
        P::from_arg_matches(&matches).map_err(|error| error.to_string())
    }

    #[test]
    fn options_are_parameters() {
        let params: BandwidthParams = read(&["--threads=one,3", "--data", "zeros", "--mix=2:1"]).unwrap();
        assert_eq!(params.threads, [ThreadCount::One, ThreadCount::Exactly(3)]);
        assert_eq!((params.data, params.mix), (Some(DataKind::Zeros), vec!["2:1".parse().unwrap()]));
        let params: MatrixParams =
            read(&["--from=llc", "--interleave=all", "--weighted-interleave=sweep", "--peak=8.5GB/s"]).unwrap();
        assert_eq!((params.from, params.buffer, params.peak), (Origin::Llc, Buffer::Own, Some(8.5e9)));
        assert_eq!((params.interleave, params.weights), (vec![IdSet::default()], vec![Weights::default()]));
        let params: LoadedParams = read(&["--delays=0,200ns,100000", "--target-ns", "150ns"]).unwrap();
        assert_eq!((params.delays, params.target_ns), (vec![0, 200, 100_000], Some(150.0)));
        assert_eq!(read::<C2cParams>(&["--sample", "all"]).unwrap().sample, Some(Sample::All));
        assert_eq!(read::<C2cParams>(&["--sample", "7"]).unwrap().sample, Some(Sample::Each(7)));
        assert_eq!(read::<ScanParams>(&["--chunk", "64M"]).unwrap().chunk, Some(Bytes(64 * MIB)));
    }

    fn refused<P: Args>(option: &str, cure: &str) {
        let error = read::<P>(&[option]).err().unwrap();
        assert!(error.contains(cure), "{option}: {error}");
    }

    #[test]
    fn refuses_with_what_to_type_instead() {
        for bad in ["0", "exactly"] {
            refused::<BandwidthParams>(&format!("--threads={bad}"), "cores (physical");
        }
        for bad in ["0", "-1", "inf", "x", ""] {
            refused::<LoadedParams>(&format!("--target-ns={bad}"), "150");
        }
        for bad in ["-1", "0.5", "100001", "1us", ""] {
            refused::<LoadedParams>(&format!("--delays={bad}"), "such as 200");
        }
        for bad in ["0", "few"] {
            refused::<C2cParams>(&format!("--sample={bad}"), "or all");
        }
        refused::<C2cParams>("--op=swap", "one-way");
        refused::<BandwidthParams>("--data=ones", "random or zeros");
        refused::<BandwidthParams>("--mix=9:1", "2:1");
        refused::<ScanParams>("--chunk=63M", "64 MiB");
        refused::<ScanParams>("--chunk=0", "1K");
        refused::<MatrixParams>("--interleave=", "0-1,3");
        refused::<MatrixParams>("--peak=8.5GB", "9.6GB/s");
    }
}

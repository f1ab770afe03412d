//! Which kernel the comparison of rivals begins with.

use tiermark_model::CpuModel;

/// The kernel that a comparison begins with, and that stays unless another is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Choice {
    /// The plain loop on the widest vectors.
    Widest,
    /// Loads that nothing adds up, on the widest vectors.
    LoadsAlone,
    /// The plain loop on 256-bit vectors.
    Avx2,
}

impl Choice {
    /// The first kernel for a cpu model: the fastest one where a model was measured, else the plain loop on the widest
    /// vectors.
    pub(super) fn of(model: &CpuModel, job: &str) -> Self {
        match (model.vendor.as_deref(), model.family, job) {
            // Loads alone read L1 1.3 times and L2 1.07 times as fast as the plain loop; other tiers 0.996 to 1.06
            // times (Emerald Rapids).
            (Some("GenuineIntel"), ..) => Self::LoadsAlone,
            // Zen 4 reads L1 1.07 times as fast as with 512-bit vectors, L2 and L3 1.00 to 1.01 times; Zen 3 has no
            // wider ones.
            (Some("AuthenticAMD"), Some(25), "read") => Self::Avx2,
            _ => Self::Widest,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comparison_begins_with_what_was_measured_to_be_fastest_on_the_model() {
        let of = |vendor: &str, family: u32, job: &str| {
            let model = CpuModel { vendor: Some(vendor.into()), family: Some(family), ..CpuModel::default() };
            Choice::of(&model, job)
        };
        assert_eq!(of("GenuineIntel", 6, "read"), Choice::LoadsAlone);
        assert_eq!(of("AuthenticAMD", 25, "read"), Choice::Avx2);
        assert_eq!(of("AuthenticAMD", 25, "copy"), Choice::Widest);
        assert_eq!(of("AuthenticAMD", 26, "read"), Choice::Widest);
        assert_eq!(Choice::of(&CpuModel::default(), "read"), Choice::Widest);
    }
}

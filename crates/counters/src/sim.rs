//! The counters of a simulated machine, whose traffic is scripted: screens and documents can be tried without hardware.

use std::io;
use std::time::Duration;

use tiermark_model::{BoxKind, BoxPlace, CounterSight, CounterSourceId, Machine, NodeId};

use crate::family::Of;
use crate::snapshot::{Reading, Snapshot};
use crate::source::CounterSource;

/// Channels of a simulated socket.
const CHANNELS: u32 = 4;
/// Transfers a second of a simulated channel: DDR5-4800, 38.4 GB/s.
const TRANSFERS: f64 = 4.8e9;
/// Transfers a second of a simulated link: 16 GT/s, 32 GB/s each way.
const LINK_TRANSFERS: f64 = 16e9;
/// Share of a socket's reads that come from the other sockets.
const REMOTE: f64 = 0.125;

/// The traffic of a simulated machine during one second, in bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SimRate {
    /// Bytes read.
    pub read: f64,
    /// Bytes written.
    pub write: f64,
}

/// The first reading of each counter. Counters of a real machine have counted since it was started, too.
const BEFORE: u64 = 1 << 20;

/// A counter of a simulated machine, and the bytes or transfers of a second.
struct Count {
    place: BoxPlace,
    of: Of,
    a_second: Box<dyn Fn(SimRate) -> f64 + Send>,
    counted: f64,
}

/// The counters of a simulated machine. A second passes between two snapshots, whatever the clock says.
pub struct SimCounters {
    counts: Vec<Count>,
    script: Vec<SimRate>,
    seconds: u64,
}

impl SimCounters {
    /// The counters of a machine whose traffic follows a script, second by second, again and again. All channels have
    /// the same part of it.
    pub fn new(machine: &Machine, script: Vec<SimRate>) -> Self {
        let sockets: Vec<u32> = machine.sockets().iter().collect();
        let mut counts = Vec::new();
        for socket in &sockets {
            let part = 1.0 / (sockets.len() as f64 * f64::from(CHANNELS));
            let node = machine.cpus.iter().find(|cpu| cpu.socket == *socket).and_then(|cpu| cpu.node);
            for channel in 0..CHANNELS {
                let place = place(*socket, node, BoxKind::Channel, format!("channel {channel}"));
                let mut add = |of, a_second| counts.push(Count { place: place.clone(), of, a_second, counted: 0.0 });
                add(Of::Read, Box::new(move |rate: SimRate| rate.read * part) as Box<dyn Fn(SimRate) -> f64 + Send>);
                add(Of::Write, Box::new(move |rate: SimRate| rate.write * part));
                add(Of::Clock, Box::new(|_| TRANSFERS));
            }
            if sockets.len() > 1 {
                let place = place(*socket, node, BoxKind::Link, "link 0".to_owned());
                let part = REMOTE / sockets.len() as f64;
                let mut add = |of, a_second| counts.push(Count { place: place.clone(), of, a_second, counted: 0.0 });
                add(
                    Of::Received,
                    Box::new(move |rate: SimRate| rate.read * part) as Box<dyn Fn(SimRate) -> f64 + Send>,
                );
                add(Of::Sent, Box::new(move |rate: SimRate| rate.read * part));
                add(Of::Clock, Box::new(|_| LINK_TRANSFERS));
            }
        }
        Self { counts, script, seconds: 0 }
    }
}

fn place(socket: u32, node: Option<NodeId>, kind: BoxKind, unit: String) -> BoxPlace {
    BoxPlace { socket: Some(socket), node, kind, unit }
}

impl CounterSource for SimCounters {
    fn id(&self) -> CounterSourceId {
        CounterSourceId::Simulated
    }

    fn sees(&self) -> Vec<CounterSight> {
        let links = [CounterSight::LinkSent, CounterSight::LinkReceived];
        let has_links = self.counts.iter().any(|count| count.place.kind == BoxKind::Link);
        let memory = [CounterSight::Reads, CounterSight::Writes, CounterSight::Channels, CounterSight::Utilisation];
        memory.into_iter().chain(links.into_iter().filter(|_| has_links)).collect()
    }

    /// The time of simulated counters is that of their readings.
    fn wait(&self, _: Duration) {}

    fn read(&mut self) -> io::Result<Snapshot> {
        let at = Duration::from_secs(self.seconds);
        let reading = |(id, count): (usize, &Count)| {
            Reading::of(id, count.place.clone(), count.of, BEFORE + count.counted as u64)
        };
        let readings = self.counts.iter().enumerate().map(reading).collect();
        let rate = usize::try_from(self.seconds)
            .ok()
            .and_then(|second| self.script.iter().cycle().nth(second % self.script.len().max(1)));
        if let Some(rate) = rate.copied() {
            self.counts.iter_mut().for_each(|count| count.counted += (count.a_second)(rate));
        }
        self.seconds += 1;
        Ok(Snapshot { at, readings, ..Snapshot::default() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traffic;
    use tiermark_machine::synth::Synth;

    #[test]
    fn the_script_is_what_is_counted() {
        let machine = Synth { sockets: 2, ..Synth::default() }.machine().unwrap();
        let rate = |read, write| SimRate { read, write };
        let mut source = SimCounters::new(&machine, vec![rate(64e9, 16e9), rate(8e9, 8e6)]);
        let mut before = source.read().unwrap();
        for (read, write) in [(64e9, 16e9), (8e9, 8e6), (64e9, 16e9)] {
            let after = source.read().unwrap();
            let seen = traffic(&before, &after);
            assert_eq!((seen.seconds, seen.boxes.len(), seen.links.len(), seen.marks.len()), (1.0, 8, 2, 0));
            assert_eq!((seen.whole().read, seen.whole().write), (Some(read), Some(write)));
            assert_eq!(seen.boxes[0].utilisation(), Some((read + write) / 8.0 / 38.4e9));
            assert_eq!(seen.links[0].sent, Some(read / 16.0));
            before = after;
        }
    }

    #[test]
    fn a_machine_without_a_script_is_idle() {
        let machine = Synth::default().machine().unwrap();
        let mut source = SimCounters::new(&machine, Vec::new());
        let before = source.read().unwrap();
        let seen = traffic(&before, &source.read().unwrap());
        assert_eq!((seen.whole().total, seen.links.len()), (Some(0.0), 0));
    }
}

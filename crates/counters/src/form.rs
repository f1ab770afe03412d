//! Which program wrote a text.

use std::collections::BTreeMap;

use tiermark_model::CounterSourceId;

use crate::likwid::LikwidFile;
use crate::pcm::{PCM, PCM_MEMORY, PcmTable};
use crate::source::CounterSource;

/// The source whose form a text has; `None` if it has no form that is read here.
pub fn form_of(text: &str) -> Option<CounterSourceId> {
    let (mut memory, mut pcm) = (PcmTable::new(&PCM_MEMORY), PcmTable::new(&PCM));
    memory.feed(text);
    pcm.feed(text);
    let mut likwid = LikwidFile::new(text.as_bytes(), BTreeMap::new());
    // A table without counts is likwid's as well.
    let _ = likwid.read();
    [
        (!memory.snapshot().readings.is_empty(), CounterSourceId::PcmMemory),
        (!pcm.snapshot().readings.is_empty(), CounterSourceId::Pcm),
        (likwid.has_tables(), CounterSourceId::Likwid),
    ]
    .into_iter()
    .find_map(|(has, id)| has.then_some(id))
}

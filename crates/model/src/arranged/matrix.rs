//! Cells of a matrix of cpus against memory.

use crate::idset::NodeId;
use crate::labels::Labels;
use crate::purpose::Purpose;
use crate::span::Span;

/// What was done, and by how many threads: one matrix each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Work<'a> {
    /// The operation whose rate it is, or `latency`; empty if the labels name none.
    pub op: &'a str,
    /// `None` for a latency.
    pub span: Option<Span>,
}

impl<'a> Work<'a> {
    /// The work that labels name.
    pub fn of(labels: &'a Labels) -> Self {
        Self { op: labels.op().unwrap_or_default(), span: labels.span() }
    }
}

/// A cell that is of one node's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MatrixCell<'a> {
    /// The cpus of its row, as a selector names them.
    pub from: &'a str,
    /// The node whose cpus they are; `None` for other groups.
    pub from_node: Option<NodeId>,
    /// The node of the memory.
    pub to: NodeId,
    /// What was done.
    pub work: Work<'a>,
}

impl<'a> MatrixCell<'a> {
    /// The cell that labels are of; `None` for anything else, and for memory that is spread over nodes.
    pub fn of(labels: &'a Labels) -> Option<Self> {
        let is_cell = labels.is_for(Purpose::Matrix) && labels.policy().is_none();
        let (from, to) = labels.from().zip(labels.node()).filter(|_| is_cell)?;
        Some(Self { from, from_node: labels.from_node(), to, work: Work::of(labels) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_is_of_one_nodes_memory() {
        let cell = Labels::new().with_purpose(Purpose::Matrix).with_from("node:0").with_node(1).with_op("latency");
        let work = Work { op: "latency", span: None };
        let found = MatrixCell { from: "node:0", from_node: Some(0), to: 1, work };
        assert_eq!(MatrixCell::of(&cell), Some(found));
        assert_eq!(MatrixCell::of(&cell.clone().with_from("llc:3")).map(|cell| cell.from_node), Some(None));
        assert_eq!(MatrixCell::of(&cell.clone().with_policy("interleave")), None);
        assert_eq!(MatrixCell::of(&cell.with_purpose(Purpose::Ladder)), None);
    }
}

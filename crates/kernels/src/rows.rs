//! What a kernel is: the arguments it takes, its declaration and its code.

use tiermark_model::kernel::{Isa, KernelInfo, Pattern, StoreKind};

/// Spans are whole multiples of this many bytes: one line. Unrolled loops finish with a loop of single lines.
pub const SPAN_QUANTUM: usize = 64;

/// Arguments of a stream kernel.
///
/// `dst`, `src` and `src2` are aligned to 64 bytes and do not overlap. Which of them an operation uses is in [`Op`].
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct StreamArgs {
    /// Start of the destination (written, or updated in place).
    pub dst: *mut u8,
    /// Start of the source.
    pub src: *const u8,
    /// Start of the second array read, of kernels that have one.
    pub src2: *const u8,
    /// Length of each stream's span in bytes: a multiple of [`SPAN_QUANTUM`], at least one.
    /// Random kernels: 64 × the length of `order`.
    pub bytes: usize,
    /// How often the whole span is walked inside the timed loop, at least 1.
    pub passes: usize,
    /// Written by fills (see [`Fill`]), added to integers, or the bits of a factor (`f64`): by the words of the loop.
    /// Some memory paths carry lines of zeros at more than twice the rate of other data (measured on a Zen 5 server,
    /// for every store that does not read its line first): a rate of writing zeros, and so of every [`Fill::Zero`]
    /// kernel, says nothing about data.
    pub value: u64,
    /// Random kernels: the lines to visit, in this order, as indices of 64-byte lines from `dst` or `src`.
    /// May be a slice of a larger permutation: the indices still count from the start of the whole buffer.
    pub order: *const u32,
}

impl StreamArgs {
    /// Arguments that point nowhere: a start for struct update syntax.
    pub const EMPTY: Self = Self {
        dst: std::ptr::null_mut(),
        src: std::ptr::null(),
        src2: std::ptr::null(),
        bytes: 0,
        passes: 1,
        value: 0,
        order: std::ptr::null(),
    };
}

/// A stream kernel. Returns the wrapping sum of all 64-bit words it read, over all passes, where the operation only
/// reads and the kernel adds up (see [`KernelRow::checked_by`]); 0 otherwise. Non-temporal and block stores may
/// still be on their way when it returns: see [`crate::cache::drain`].
///
/// # Safety
/// The arguments must describe memory that the operation may read and write as [`StreamArgs`] and [`Op`] say, and the
/// kernel must be available on this cpu.
pub type StreamFn = unsafe extern "C" fn(*const StreamArgs) -> u64;

/// A stream kernel as a function of its arguments: its meaning is that of the portable kernel of the same name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Op {
    name: &'static str,
    pattern: Pattern,
    streams: u8,
    read_per_line: u16,
    write_per_line: u16,
}

impl Op {
    /// An operation by its name, how it walks, how many arrays, and the useful bytes that it reads and writes for every
    /// line of span.
    pub(crate) const fn new(name: &'static str, pattern: Pattern, streams: u8, read: u16, write: u16) -> Self {
        Self { name, pattern, streams, read_per_line: read, write_per_line: write }
    }

    /// Its name in kernel ids.
    pub const fn name(self) -> &'static str {
        self.name
    }

    /// Sequential or random.
    pub const fn pattern(self) -> Pattern {
        self.pattern
    }

    /// Arrays walked at once.
    pub const fn streams(self) -> u8 {
        self.streams
    }

    /// Useful bytes read for every line of span.
    pub const fn read_per_line(self) -> u16 {
        self.read_per_line
    }

    /// Useful bytes written for every line of span.
    pub const fn write_per_line(self) -> u16 {
        self.write_per_line
    }
}

/// The value that a storing kernel writes, from [`StreamArgs::value`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fill {
    /// Stores all eight bytes of it.
    Word,
    /// Stores its low byte everywhere.
    LowByte,
    /// Can only store zeros.
    Zero,
}

impl Fill {
    /// The word that memory holds afterwards.
    pub const fn word(self, value: u64) -> u64 {
        match self {
            Self::Word => value,
            Self::LowByte => (value & 0xff) * 0x0101_0101_0101_0101,
            Self::Zero => 0,
        }
    }
}

/// The declaration of a kernel; [`KernelInfo`] as static data.
#[derive(Debug, Clone, Copy)]
pub struct KernelRow {
    /// `operation/variant`.
    pub id: &'static str,
    /// The operation.
    pub op: Op,
    /// Instruction set.
    pub isa: Isa,
    /// Load instructions of the measured memory in one iteration of the loop (loads of `order` are not counted).
    pub loads: u16,
    /// Store instructions in one iteration of the loop.
    pub stores: u16,
    /// Bytes of each stream that one iteration covers. `rep` kernels: of one iteration of the prefix. Where the
    /// length is the machine's (SVE vectors, `dc zva` blocks): at its smallest usual one, 16 and 64 bytes.
    pub unroll_bytes: u32,
    /// How stores reach memory.
    pub store_kind: StoreKind,
    /// The stored value.
    pub fill: Fill,
    /// Whether it is the plain form of its operation for its instruction set.
    pub plain: bool,
    /// For a kernel that only loads: the kernel that makes the same loads in the same order and adds up.
    /// A pass of that one, apart from the timed one, says by its checksum which bytes are read. A test holds the
    /// instructions of the two side by side.
    pub checked_by: Option<&'static str>,
    /// One line for people.
    pub doc: &'static str,
    /// The symbol of its function; `None` for portable twins, which the compiler may inline and reshape.
    pub symbol: Option<&'static str>,
}

impl KernelRow {
    /// The base row of kernels of string or zeroing instructions. They are written in Rust: such an instruction is a
    /// loop by itself, or needs a register of its own, so it has no loop body for a file. Rows that use it set the
    /// other fields.
    pub(crate) const BLOCK: Self = Self {
        id: "",
        op: Op::new("fill.rep", Pattern::Sequential, 1, 0, 64),
        isa: Isa::X86,
        loads: 0,
        stores: 1,
        unroll_bytes: 1,
        store_kind: StoreKind::Block,
        fill: Fill::Word,
        plain: false,
        checked_by: None,
        doc: "",
        symbol: None,
    };
}

impl From<&KernelRow> for KernelInfo {
    fn from(row: &KernelRow) -> Self {
        Self {
            id: row.id.into(),
            isa: row.isa,
            pattern: row.op.pattern(),
            streams: row.op.streams(),
            loads: row.loads,
            stores: row.stores,
            unroll_bytes: row.unroll_bytes,
            store_kind: row.store_kind,
            read_per_line: row.op.read_per_line(),
            write_per_line: row.op.write_per_line(),
            zeros_only: row.fill == Fill::Zero,
            plain: row.plain,
            doc: row.doc.to_owned(),
        }
    }
}

/// One kernel: its declaration, its code, and whether this cpu can run it.
#[derive(Debug, Clone, Copy)]
pub struct StreamSpec {
    /// Its declaration.
    pub info: KernelRow,
    /// Its code.
    pub run: StreamFn,
    /// Whether this cpu and operating system can run it.
    pub available: fn() -> bool,
}

impl StreamSpec {
    /// Its declaration as the model has it.
    pub fn kernel_info(&self) -> KernelInfo {
        KernelInfo::from(&self.info)
    }
}

/// Most chains one chase can follow at once.
pub const MAX_CHAINS: u8 = 32;

/// Arguments of a chase.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct ChaseArgs {
    /// Where each chain stands: read at the start, written back at the end. A chase over k chains uses the first k.
    pub heads: [*const u8; MAX_CHAINS as usize],
    /// Loads each chain makes, at least 1.
    pub steps: usize,
}

impl ChaseArgs {
    /// Arguments that point nowhere.
    pub const EMPTY: Self = Self { heads: [std::ptr::null(); MAX_CHAINS as usize], steps: 1 };
}

/// Follows chains for `steps` loads each and stores the heads back.
///
/// # Safety
/// Each head in use must point to a pointer that leads to another, and so on, for `steps` loads.
pub type ChaseFn = unsafe extern "C" fn(*mut ChaseArgs);

/// One chase, as its test sees it.
#[derive(Debug, Clone, Copy)]
pub struct ChaseRow {
    /// Its code.
    pub run: ChaseFn,
    /// The symbol of its function.
    pub symbol: &'static str,
    /// Dependent loads of chain memory in one iteration of the loop.
    pub loads: u16,
}

/// Arguments of a chase over bytes.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct ByteArgs {
    /// The first byte.
    pub at: *const u8,
    /// Bytes from one access to the next.
    pub stride: usize,
    /// Loads, at least 1.
    pub steps: usize,
    /// The byte that was loaded last; it is added to the address of the next access.
    pub last: usize,
}

/// Loads bytes a stride apart, each at an address to which the byte before it is added.
///
/// # Safety
/// Each address that arises so must be readable; where all bytes are zero these are `at`, `at + stride` and so on,
/// `steps` of them.
pub type ByteChaseFn = unsafe extern "C" fn(*mut ByteArgs);

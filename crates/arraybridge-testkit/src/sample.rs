//! The table of arrays that every library is tried with: layouts times dtypes.

use arraybridge_core::{Access, DType, Error, HostArray, Layout, Owner};

use crate::Releases;

/// Who may reach a sample's memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reach {
    /// The sample alone.
    Exclusive,
    /// Nobody writes it.
    ReadOnly,
}

/// A memory layout of the table. Strides count elements.
#[derive(Clone, Copy, Debug)]
pub struct SampleLayout {
    /// What is peculiar about it.
    pub name: &'static str,
    /// The length of each axis.
    pub shape: &'static [usize],
    /// The stride of each axis.
    pub strides: &'static [isize],
    /// Elements of other use before the first one's allocation.
    pub offset: usize,
    /// Whether the address is one byte off (dtypes of one byte are as they are).
    pub unaligned: bool,
    /// Who may reach it.
    pub reach: Reach,
}

const fn row(
    name: &'static str,
    shape: &'static [usize],
    strides: &'static [isize],
) -> SampleLayout {
    SampleLayout { name, shape, strides, offset: 0, unaligned: false, reach: Reach::Exclusive }
}

/// The layouts of the table.
pub const LAYOUTS: &[SampleLayout] = &[
    row("0-d", &[], &[]),
    row("one element", &[1], &[1]),
    row("row-major", &[3, 4], &[4, 1]),
    row("size 0", &[0], &[1]),
    row("size 0 in the middle", &[2, 0, 3], &[7, -5, 2]),
    row("size-1 axes with odd strides", &[1, 3, 1, 2], &[-77, 2, 1000, 1]),
    row("negative strides", &[3, 4], &[-4, -1]),
    row("a negative inner stride", &[3, 4], &[4, -1]),
    row("zero strides", &[3, 4], &[0, 1]),
    row("all strides zero", &[2, 3], &[0, 0]),
    row("Fortran order", &[3, 4, 2], &[1, 3, 12]),
    row("permuted axes", &[2, 3, 4], &[4, 8, 1]),
    row("a step", &[5], &[2]),
    row("rows with gaps", &[3, 4], &[7, 1]),
    SampleLayout { offset: 3, ..row("an offset", &[2, 4], &[4, 1]) },
    SampleLayout { offset: 1, ..row("an offset and a step", &[2, 3], &[9, 3]) },
    SampleLayout { unaligned: true, ..row("under-aligned", &[2, 5], &[5, 1]) },
    SampleLayout { reach: Reach::ReadOnly, ..row("read-only", &[2, 3], &[3, 1]) },
    SampleLayout { reach: Reach::ReadOnly, ..row("read-only Fortran order", &[2, 3], &[1, 2]) },
    row("5-D", &[2, 1, 3, 2, 2], &[12, 12, 4, 2, 1]),
    row("5-D permuted", &[2, 3, 2, 2, 2], &[1, 16, 2, 8, 4]),
    row("several blocks", &[67, 33], &[1, 67]),
];

/// Returns every dtype there is.
pub fn dtypes() -> impl Iterator<Item = DType> {
    DType::all()
}

/// Returns the table's arrays of a dtype.
pub fn samples(dtype: DType) -> impl Iterator<Item = Sample> {
    LAYOUTS.iter().map(move |layout| Sample { dtype, layout: *layout })
}

/// An array of the table, to be made as often as needed.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// The dtype.
    pub dtype: DType,
    /// The layout.
    pub layout: SampleLayout,
}

impl Sample {
    /// Makes the array, and the count of its owner's releases.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn make(&self) -> Result<(HostArray, Releases), Error> {
        let size = self.dtype.size();
        let layout = Layout::new(self.layout.shape, self.layout.strides)?;
        let (before, bytes) = self.memory(&layout);
        let mut storage = HostArray::from_slice(&bytes, &[bytes.len()])?;
        let start = before * size + usize::from(self.is_unaligned());
        let pointer = storage.as_mut_ptr()?.wrapping_add(start);
        let access = match self.layout.reach {
            Reach::Exclusive => Access::Exclusive,
            Reach::ReadOnly => Access::Immutable,
        };
        let releases = Releases::new();
        let owner = Owner::new(releases.guard(storage));
        // SAFETY: the owner holds the storage, all of whose bytes are initialised and which nobody
        // else reaches; `memory` made it as long as the layout's span from `start`.
        let array = unsafe { HostArray::from_raw(owner, pointer, self.dtype, layout, access) }?;
        Ok((array, releases))
    }

    /// Returns the bytes of the elements in row-major order, found without the library under test.
    ///
    /// # Errors
    /// [`Error::SizeOverflow`].
    pub fn bits(&self) -> Result<Vec<u8>, Error> {
        let size = self.dtype.size();
        let layout = Layout::new(self.layout.shape, self.layout.strides)?;
        let (before, bytes) = self.memory(&layout);
        let start = before * size + usize::from(self.is_unaligned());
        let mut bits = Vec::with_capacity(layout.len() * size);
        for offset in offsets(layout.shape(), layout.strides()) {
            let at = start.wrapping_add_signed(offset * size as isize);
            bits.extend_from_slice(&bytes[at..at + size]);
        }
        Ok(bits)
    }

    /// Returns the name of the layout and dtype.
    pub fn name(&self) -> String {
        format!("{} ({})", self.layout.name, self.dtype)
    }

    fn is_unaligned(&self) -> bool {
        self.layout.unaligned && self.dtype.align() > 1
    }

    /// Returns the elements before the first one and all bytes of the memory.
    fn memory(&self, layout: &Layout) -> (usize, Vec<u8>) {
        let span = layout.span();
        let before = self.layout.offset + span.start.unsigned_abs();
        let elements = before + span.end.unsigned_abs();
        let count = elements * self.dtype.size() + usize::from(self.is_unaligned());
        // A multiplicative hash: floats meet NaNs and infinities of every pattern.
        let byte = |at: usize| {
            let mixed = (at as u32 + 1).wrapping_mul(2_654_435_761) >> 13;
            if self.dtype == DType::Bool { (mixed & 1) as u8 } else { mixed as u8 }
        };
        (before, (0..count).map(byte).collect())
    }
}

/// Returns the offsets of all elements in row-major order.
pub(crate) fn offsets(shape: &[usize], strides: &[isize]) -> Vec<isize> {
    let mut all = vec![0isize];
    for (&length, &stride) in shape.iter().zip(strides) {
        all = all
            .iter()
            .flat_map(|start| (0..length as isize).map(move |index| start + index * stride))
            .collect();
    }
    all
}

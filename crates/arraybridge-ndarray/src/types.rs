//! Which of ndarray's types an array turns into: the bounds of generic methods.

/// An owned array type of an enabled version of ndarray: `Array<T, D>` or `ArcArray<T, D>` of any
/// [`Element`](arraybridge_core::Element) type and dimension.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an owned array type of an enabled version of ndarray",
    label = "expected `Array<T, D>` or `ArcArray<T, D>`",
    note = "the features `ndarray-0_17` (default) and `ndarray-0_16` enable the versions"
)]
pub trait OwnedType: sealed::Owned {}

/// A view type of an enabled version of ndarray: `ArrayView<'a, T, D>`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a view type of an enabled version of ndarray",
    label = "expected `ArrayView<T, D>`",
    note = "the features `ndarray-0_17` (default) and `ndarray-0_16` enable the versions"
)]
pub trait ViewType<'a>: sealed::View<'a> {}

/// A writable view type of an enabled version of ndarray: `ArrayViewMut<'a, T, D>`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a writable view type of an enabled version of ndarray",
    label = "expected `ArrayViewMut<T, D>`",
    note = "the features `ndarray-0_17` (default) and `ndarray-0_16` enable the versions"
)]
pub trait ViewMutType<'a>: sealed::ViewMut<'a> {}

/// What the traits above are implemented by, for this crate alone.
pub(crate) mod sealed {
    use arraybridge_core::{Element, HostArray};

    use crate::lent::{Lent, LentMut};

    pub trait Owned: Sized {
        type Elem: Element;
        /// The number of axes, unless any will do.
        const RANK: Option<usize>;

        /// Takes the memory of an array of this dtype and rank, if it is this type's to take.
        fn take(host: HostArray) -> Result<Self, HostArray>;

        /// Makes an array of as many elements in row-major order as the shape has.
        fn of_elements(vec: Vec<Self::Elem>, shape: &[usize]) -> Option<Self>;
    }

    pub trait View<'a> {
        type Elem: Element;
        const RANK: Option<usize>;

        fn of_lent(lent: Lent<'a, Self::Elem>) -> Self;
    }

    pub trait ViewMut<'a> {
        type Elem: Element;
        const RANK: Option<usize>;

        fn of_lent(lent: LentMut<'a, Self::Elem>) -> Self;
    }
}

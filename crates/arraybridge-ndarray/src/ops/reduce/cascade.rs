//! Accumulators that are joined pairwise.

use super::fold::Fold;

/// A row of accumulators that takes rows in blocks and joins the blocks like the digits of a
/// binary counter, so that a rounding error meets at most `BLOCK + log2(blocks)` additions.
///
/// Pairwise summation: N. J. Higham, "The accuracy of floating point summation", SIAM Journal on
/// Scientific Computing 14(4), 1993.
pub(super) struct Cascade<A> {
    block: Vec<A>,
    start: A,
    taken: usize,
    /// Joined blocks: level `k` holds 2^k of them where bit `k` of `occupied` is set.
    levels: Vec<Vec<A>>,
    occupied: usize,
}

impl<A: Copy> Cascade<A> {
    /// Makes accumulators for rows of at most this length.
    pub(super) fn new(width: usize, start: A) -> Cascade<A> {
        Cascade { block: vec![start; width], start, taken: 0, levels: Vec::new(), occupied: 0 }
    }

    /// Takes a row, element by element, into the first accumulators.
    #[inline]
    pub(super) fn take<S: Copy, F: Fold<S, Acc = A>>(&mut self, row: &[S]) {
        for (acc, &element) in self.block.iter_mut().zip(row) {
            *acc = F::step(*acc, element);
        }
        self.count::<S, F>();
    }

    /// Takes another accumulator into the first one.
    #[inline]
    pub(super) fn join<S, F: Fold<S, Acc = A>>(&mut self, other: A) {
        if let Some(acc) = self.block.first_mut() {
            *acc = F::join(*acc, other);
        }
        self.count::<S, F>();
    }

    #[inline]
    fn count<S, F: Fold<S, Acc = A>>(&mut self) {
        self.taken += 1;
        if self.taken == F::BLOCK {
            self.carry::<S, F>();
        }
    }

    fn carry<S, F: Fold<S, Acc = A>>(&mut self) {
        let full = self.occupied.trailing_ones() as usize;
        for level in &self.levels[..full] {
            merge::<S, F>(&mut self.block, level);
        }
        if self.levels.len() == full {
            self.levels.push(vec![self.start; self.block.len()]);
        }
        std::mem::swap(&mut self.levels[full], &mut self.block);
        self.block.fill(self.start);
        self.occupied += 1;
        self.taken = 0;
    }

    /// Joins all that was taken, hands the first `width` accumulators out and starts anew.
    pub(super) fn finish<S, F: Fold<S, Acc = A>>(
        &mut self,
        width: usize,
        hand_out: impl FnOnce(&mut [A]),
    ) {
        for (place, level) in self.levels.iter().enumerate() {
            if self.occupied >> place & 1 == 1 {
                merge::<S, F>(&mut self.block, level);
            }
        }
        hand_out(&mut self.block[..width]);
        self.block[..].fill(self.start);
        self.taken = 0;
        self.occupied = 0;
    }
}

fn merge<S, F: Fold<S>>(accs: &mut [F::Acc], others: &[F::Acc]) {
    for (acc, &other) in accs.iter_mut().zip(others) {
        *acc = F::join(*acc, other);
    }
}

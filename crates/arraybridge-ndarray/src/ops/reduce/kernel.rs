//! Walking a planned array.

use arraybridge_core::{Element, Error, Rows};

use super::cascade::Cascade;
use super::fold::Fold;
use super::plan::Plan;

/// Outputs accumulated at a time: they and the piece of a row that they take stay in the
/// first-level cache.
const TILE: usize = 1024;

/// Elements of a row folded at a time, on [`LANES`] accumulators.
const RUN: usize = 256;

/// Accumulators that do not wait for each other.
const LANES: usize = 16;

/// Folds the reduced axes of `plan` into `out`, which has one place per kept index, in the plan's
/// order.
pub(super) fn fold<S: Element, F: Fold<S>, T>(
    plan: &Plan,
    out: &mut [T],
    finish: impl Fn(F::Acc) -> T,
) -> Result<(), Error> {
    let rows = plan.view().rows::<S>()?;
    let (kept, reduced) = plan.outer_axes();
    let mut walk = Walk { rows, index: vec![0; rows.shape().len()], kept, reduced };
    match plan.period() {
        // Each row is folded into one output.
        0 => each_to_one::<S, F, T>(&mut walk, out, finish),
        // Each row holds the outputs, once or several times.
        period => side_by_side::<S, F, T>(&mut walk, out, period, finish),
    }
}

fn each_to_one<S: Element, F: Fold<S>, T>(
    walk: &mut Walk<'_, S>,
    out: &mut [T],
    finish: impl Fn(F::Acc) -> T,
) -> Result<(), Error> {
    let mut cascade = Cascade::new(1, F::START);
    let short = walk.reduced.is_empty() && walk.rows.length() <= RUN;
    for place in out {
        if short {
            *place = finish(fold_run::<S, F>(walk.row()?));
        } else {
            loop {
                for run in walk.row()?.chunks(RUN) {
                    cascade.join::<S, F>(fold_run::<S, F>(run));
                }
                if !walk.next_reduced() {
                    break;
                }
            }
            cascade.finish::<S, F>(1, |accs| {
                if let [acc] = accs {
                    *place = finish(*acc);
                }
            });
        }
        walk.next_kept();
    }
    Ok(())
}

fn fold_run<S: Element, F: Fold<S>>(run: &[S]) -> F::Acc {
    let mut accs = fold_lanes::<S, F>(run);
    let mut width = LANES;
    while width > 1 {
        width /= 2;
        for lane in 0..width {
            accs[lane] = F::join(accs[lane], accs[lane + width]);
        }
    }
    accs[0]
}

/// Folds on one accumulator per lane, in vector instructions: inlined, the joins after it lead the
/// compiler to split them again.
#[inline(never)]
fn fold_lanes<S: Element, F: Fold<S>>(run: &[S]) -> [F::Acc; LANES] {
    let mut accs = [F::START; LANES];
    let (whole, rest) = run.as_chunks::<LANES>();
    for elements in whole {
        for lane in 0..LANES {
            accs[lane] = F::step(accs[lane], elements[lane]);
        }
    }
    for (acc, &element) in accs.iter_mut().zip(rest) {
        *acc = F::step(*acc, element);
    }
    accs
}

fn side_by_side<S: Element, F: Fold<S>, T>(
    walk: &mut Walk<'_, S>,
    out: &mut [T],
    period: usize,
    finish: impl Fn(F::Acc) -> T,
) -> Result<(), Error> {
    // Short periods are taken several at a time, long ones in tiles.
    let repeats = (TILE / period).clamp(1, walk.rows.length() / period);
    let width = TILE.min(period) * repeats;
    let mut cascade = Cascade::new(width, F::START);
    for places in out.chunks_exact_mut(period) {
        for (tile, places) in places.chunks_mut(TILE).enumerate() {
            loop {
                let row = walk.row()?;
                if period == row.len() {
                    let start = tile * TILE;
                    cascade.take::<S, F>(&row[start..start + places.len()]);
                } else {
                    for part in row.chunks(width) {
                        cascade.take::<S, F>(part);
                    }
                }
                if !walk.next_reduced() {
                    break;
                }
            }
            cascade.finish::<S, F>(width, |accs| {
                let (first, others) = accs.split_at_mut(places.len());
                if repeats > 1 {
                    for other in others.chunks_exact(places.len()) {
                        for (acc, &other) in first.iter_mut().zip(other) {
                            *acc = F::join(*acc, other);
                        }
                    }
                }
                for (place, &acc) in places.iter_mut().zip(&*first) {
                    *place = finish(acc);
                }
            });
        }
        walk.next_kept();
    }
    Ok(())
}

/// A place among the rows, moved along the kept and the reduced axes apart.
struct Walk<'a, S> {
    rows: Rows<'a, S>,
    index: Vec<usize>,
    kept: Vec<usize>,
    reduced: Vec<usize>,
}

impl<'a, S: Element> Walk<'a, S> {
    fn row(&self) -> Result<&'a [S], Error> {
        self.rows.get(&self.index).ok_or_else(|| Error::InvalidArgument {
            operation: "reduction",
            message: format!("no row at {:?} of {:?}", self.index, self.rows.shape()),
        })
    }

    /// Moves to the next row along the reduced axes; back to the first, and `false`, after the
    /// last.
    fn next_reduced(&mut self) -> bool {
        advance(&mut self.index, self.rows.shape(), &self.reduced)
    }

    /// Moves to the next row along the kept axes.
    fn next_kept(&mut self) {
        advance(&mut self.index, self.rows.shape(), &self.kept);
    }
}

fn advance(index: &mut [usize], shape: &[usize], axes: &[usize]) -> bool {
    for &axis in axes.iter().rev() {
        index[axis] += 1;
        if index[axis] < shape[axis] {
            return true;
        }
        index[axis] = 0;
    }
    false
}

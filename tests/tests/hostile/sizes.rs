//! Sizes at and beyond what an address space holds.

use arraybridge::{AxisSlice, DType, Device, Error, HostArray, Layout};

const HUGE: usize = isize::MAX as usize;

#[test]
fn layouts_beyond_the_address_space_are_refused() {
    let refused: [(&[usize], &[isize]); 8] = [
        (&[usize::MAX], &[1]),
        (&[HUGE + 1], &[0]),
        (&[HUGE, 2], &[0, 0]),
        (&[1 << 32, 1 << 32], &[0, 0]),
        // Few elements, far apart.
        (&[3], &[isize::MAX]),
        (&[2, 2], &[isize::MAX, isize::MAX]),
        (&[2, 2], &[isize::MAX, isize::MIN]),
        // No elements, but lengths that no loop could count.
        (&[0, usize::MAX], &[1, 1]),
    ];
    for (shape, strides) in refused {
        let error = Layout::new(shape, strides).unwrap_err();
        assert!(matches!(error, Error::SizeOverflow { .. }), "{shape:?} {strides:?}: {error}");
    }
    assert!(Layout::row_major(&[HUGE, 2]).is_err());
    assert!(Layout::column_major(&[2, HUGE]).is_err());
}

#[test]
fn layouts_at_the_edge_answer_every_question() {
    let edges: [(&[usize], &[isize]); 7] = [
        (&[HUGE], &[0]),
        (&[HUGE], &[1]),
        (&[2], &[isize::MAX - 1]),
        (&[2], &[-(isize::MAX - 1)]),
        (&[1, 1], &[isize::MIN, isize::MAX]),
        (&[0, HUGE], &[isize::MIN, isize::MAX]),
        (&[1 << 31, 1 << 31], &[1 << 31, 1]),
    ];
    for (shape, strides) in edges {
        let layout = Layout::new(shape, strides).unwrap();
        let span = layout.span();
        assert!(span.start <= 0 && span.end >= 0);
        let answers = (
            layout.is_row_major(),
            layout.is_column_major(),
            layout.is_dense(),
            layout.may_overlap(),
            layout.canonical(),
            layout.transpose(),
            format!("{layout:?}"),
        );
        drop(answers);
        for dtype in [DType::U8, DType::Complex128] {
            let _ = (layout.nbytes(dtype), layout.byte_span(dtype));
        }
        for step in [1, -1, isize::MAX, isize::MIN] {
            let slice = AxisSlice::new(Some(isize::MIN), Some(isize::MAX), step);
            layout.slice(&[slice]).unwrap();
            layout.slice(&[AxisSlice::full().with_step(step)]).unwrap();
        }
        let _ = layout.index_axis(0, shape[0].saturating_sub(1));
        let _ = layout.insert_axis(1).unwrap();
        let _ = layout.reshape(&[layout.len()]).unwrap();
        let _ = layout.broadcast_to(&[2, 2, 2]);
    }
}

#[test]
fn arrays_that_cannot_exist_are_errors() {
    for shape in [&[HUGE][..], &[HUGE / 2], &[1 << 40, 1 << 20]] {
        for dtype in [DType::U8, DType::F64] {
            let zeros = HostArray::zeros(dtype, shape).unwrap_err();
            assert!(
                matches!(zeros, Error::OutOfMemory { .. } | Error::SizeOverflow { .. }),
                "{zeros}"
            );
            assert!(HostArray::scratch(dtype, shape).is_err());
        }
    }
    let text = HostArray::zeros(DType::U8, &[HUGE / 2]).unwrap_err().to_string();
    assert_eq!(
        text,
        format!("host memory is out of memory on `host`: asked for {} bytes", HUGE / 2)
    );
}

#[test]
fn a_view_that_repeats_beyond_the_address_space_is_refused() {
    let one = HostArray::from_vec(vec![1.0f64], &[1]).unwrap();
    assert!(matches!(one.broadcast_to(&[HUGE]), Err(Error::SizeOverflow { .. })));
    let repeated = Layout::new(&[HUGE], &[0]).unwrap();
    let refused = one.with_layout(repeated, 0).unwrap_err();
    assert!(matches!(refused, Error::SizeOverflow { .. }), "{refused}");

    // What fits as a view need not fit as a copy.
    let wide = one.broadcast_to(&[HUGE / 8]).unwrap();
    assert_eq!(wide.nbytes(), HUGE / 8 * 8);
    assert!(matches!(wide.gather(), Err(Error::OutOfMemory { .. })));
    assert!(matches!(wide.clone().make_mut(), Err(Error::OutOfMemory { .. })));
    let wide = one.broadcast_to(&[1 << 50]).unwrap();
    assert!(wide.into_dlpack().unwrap().into_versioned().is_ok_and(release));
}

/// Imports and drops an exported tensor.
fn release(tensor: *mut std::ffi::c_void) -> bool {
    use arraybridge::{Access, dlpack::DlpackPayload};
    // SAFETY: the tensor was just exported, and nobody else has it.
    unsafe { DlpackPayload::from_versioned(tensor, Access::Immutable) }.is_ok()
}

#[test]
fn arrays_without_elements_take_any_lengths() {
    let empty = HostArray::from_vec(Vec::<u16>::new(), &[0, 1 << 40]).unwrap();
    assert!(empty.is_empty() && empty.nbytes() == 0);
    assert!(empty.transpose().gather().unwrap().as_slice::<u16>().unwrap().is_empty());
    assert_eq!(empty.reshape(&[1 << 61, 0]).unwrap().len(), 0);
    assert_eq!(empty.slice(&[AxisSlice::full(), AxisSlice::from(5..)]).unwrap().len(), 0);
    assert!(empty.index_axis(0, 0).is_err());
    assert_eq!(empty.index_axis(1, 1 << 39).unwrap().shape(), [0]);
    // Nothing leads from an array without elements to one that has some.
    assert!(empty.with_layout(Layout::row_major(&[1]).unwrap(), 0).is_err());
    assert!(empty.with_layout(Layout::row_major(&[1]).unwrap(), -1).is_err());
    assert!(empty.broadcast_to(&[1, 1 << 40]).is_err());
}

#[test]
fn a_layout_outside_of_the_array_is_refused() {
    let array = HostArray::from_vec(vec![0u8; 16], &[4, 4]).unwrap();
    let line = |length: usize, stride: isize| Layout::new(&[length], &[stride]).unwrap();
    for (layout, offset) in [
        (line(17, 1), 0),
        (line(16, 1), 1),
        (line(1, 1), 16),
        (line(1, 1), -1),
        (line(2, -1), 0),
        (line(2, 16), 0),
        (line(1, 1), isize::MAX),
        (line(1, 1), isize::MIN),
        (line(2, -(isize::MAX - 1)), isize::MAX),
    ] {
        assert!(array.with_layout(layout.clone(), offset).is_err(), "{layout:?} at {offset}");
    }
    assert!(array.with_layout(line(16, -1), 15).is_ok());
    // Gaps of a view may be somebody else's, so only a dense array can be laid out anew.
    let column = array.slice(&[AxisSlice::full(), AxisSlice::from(..1)]).unwrap();
    assert!(column.with_layout(line(5, 1), 0).is_err());
}

#[test]
fn a_vector_is_not_read_beyond_its_end() {
    let reach = |first: usize, shape: &[usize], strides: &[isize]| {
        HostArray::from_vec_layout(vec![1u8; 8], first, Layout::new(shape, strides).unwrap())
    };
    for (first, shape, strides) in [
        (8, &[1][..], &[1][..]),
        (0, &[9], &[1]),
        (0, &[2], &[-1]),
        (7, &[2], &[1]),
        (usize::MAX, &[1], &[1]),
        (HUGE, &[2], &[1]),
        (3, &[2, 2], &[-3, -1]),
    ] {
        let refused = reach(first, shape, strides).unwrap_err();
        assert!(matches!(refused.error(), Error::InvalidLayout { .. }), "{refused}");
        assert_eq!(refused.into_array().unwrap(), [1; 8]);
    }
    assert!(reach(4, &[2, 2], &[-3, -1]).is_ok());
    // No elements need no memory.
    assert!(reach(usize::MAX, &[0], &[isize::MAX]).is_ok());
}

#[test]
fn many_axes_exhaust_no_stack() {
    let rank = 100_000;
    let mut shape = vec![1usize; rank];
    (shape[10], shape[rank - 10]) = (2, 3);
    let array = HostArray::from_vec(vec![1u16, 2, 3, 4, 5, 6], &shape).unwrap();
    let turned = array.transpose();
    assert_eq!(turned.gather().unwrap().as_slice::<u16>().unwrap(), [1, 4, 2, 5, 3, 6]);
    assert_eq!(turned.reshape(&[6]).unwrap().as_slice::<u16>().unwrap(), [1, 4, 2, 5, 3, 6]);
    assert_eq!(array.reshape(&[3, 2]).unwrap().address(), array.address());
    assert!(!turned.layout().may_overlap() && turned.layout().is_dense());
}

#[test]
fn device_names_keep_to_their_bounds() {
    let long = "x".repeat(129);
    for name in ["", " ", "a ", "\u{a0}b", "a\u{0}b", "a\nb", "\u{85}", long.as_str()] {
        let refused = Device::named(name).unwrap_err();
        assert!(matches!(refused, Error::InvalidLabel { .. }), "{name:?}: {refused}");
    }
    // Longer than what is kept, and cut in the middle of a character if cut by bytes.
    let wide = "é".repeat(10_000);
    assert!(Device::named(&wide).unwrap_err().to_string().len() < 1000);
    assert!(format!("accelerator:{wide}").parse::<Device>().is_err());
    for label in ["accelerator:+1", "accelerator:4294967296", "accelerator:-0", "host ", "device:"]
    {
        assert!(label.parse::<Device>().is_err(), "{label}");
    }
    let name = Device::named("device:host").unwrap();
    assert_eq!(name.to_string().parse::<Device>().unwrap(), name);
}

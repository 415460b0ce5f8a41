//! Objects of the real Python libraries: what they are taken for, what is copied, who is released.

#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use std::ffi::CString;

use arraybridge_core::{
    Access, AnyArray, ArrayLibrary, Convert, CopyPolicy, DType, Error, HOST, HostArray,
    HostViewExt, Mechanism,
};
use arraybridge_ndarray::{NdArray, Ndarray};
use arraybridge_python::pyo3::prelude::*;
use arraybridge_python::pyo3::types::PyDict;
use arraybridge_python::{Array, CapsuleForm, Cells, Maker, PyArray, PyLibrary, to_capsule};
use arraybridge_testkit::{LAYOUTS, Sample, watch};

/// Runs Python code and takes what it calls `made`.
fn made(code: &str) -> PyArray {
    Python::attach(|py| PyArray::from_object(&run(py, code)).unwrap())
}

fn run<'py>(py: Python<'py>, code: &str) -> Bound<'py, PyAny> {
    let names = PyDict::new(py);
    py.run(&CString::new(code).unwrap(), Some(&names), None).unwrap();
    names.get_item("made").unwrap().unwrap()
}

fn numbers(host: &HostArray) -> Vec<f32> {
    host.to_contiguous().unwrap().as_slice::<f32>().unwrap().to_vec()
}

/// Each library's array of the numbers 0 to 5 in two rows, and what made it.
const RAMPS: &[(&str, Maker, &str)] = &[
    ("numpy", Maker::Numpy, "import numpy as np; made = np.arange(6, dtype='f4').reshape(2, 3)"),
    ("jax", Maker::Jax, "import jax.numpy as j; made = j.arange(6, dtype='float32').reshape(2, 3)"),
    (
        "tensorflow",
        Maker::Tensorflow,
        "import tensorflow as tf; made = tf.reshape(tf.range(6, dtype=tf.float32), (2, 3))",
    ),
    (
        "torch",
        Maker::Torch,
        "import torch; made = torch.arange(6, dtype=torch.float32).reshape(2, 3)",
    ),
    (
        "pandas",
        Maker::Pandas,
        "import numpy as np, pandas as pd; made = pd.DataFrame(np.arange(6, dtype='f4').reshape(2, 3))",
    ),
    (
        "dask",
        Maker::Dask,
        "import dask.array as da; made = da.arange(6, dtype='f4', chunks=4).reshape(2, 3)",
    ),
];

#[test]
fn objects_of_every_library_are_read_and_named_in_records() {
    if !common::python() {
        return;
    }
    for (name, maker, code) in RAMPS {
        if !common::has(name) {
            continue;
        }
        let array = made(code);
        assert_eq!(array.maker(), *maker, "{name}");
        let seen = PyLibrary.describe(&array).unwrap();
        assert_eq!((seen.dtype, seen.layout.shape()), (DType::F32, &[2, 3][..]), "{name}");
        let (there, records) = watch(|| array.convert_to::<Ndarray>(HOST).unwrap());
        assert_eq!(numbers(there.host()), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0], "{name}");
        assert_eq!(records[0].source_library, format!("python:{name}"));
    }
}

#[test]
fn a_numpy_array_that_nobody_else_holds_crosses_without_a_copy_and_others_are_copied() {
    if !common::python() {
        return;
    }
    let code = "import numpy as np; made = np.arange(6, dtype='f4')";
    let array = made(code);
    let address = PyLibrary.describe(&array).unwrap().address;
    let (there, records) = watch(|| array.convert_with::<Ndarray>(HOST, CopyPolicy::Never));
    let mut there: NdArray = there.unwrap();
    assert_eq!(there.host().address(), address);
    assert_eq!(records[0].mechanism, Mechanism::SharedHostBuffer);
    there.host_mut().as_slice_mut::<f32>().unwrap()[0] = 7.0;

    // Back, without a copy, and out again.
    let array: PyArray = there.convert_with::<PyLibrary>(HOST, CopyPolicy::Never).unwrap();
    let there: NdArray = array.convert_with::<Ndarray>(HOST, CopyPolicy::Never).unwrap();
    assert_eq!((there.host().address(), numbers(there.host())[0]), (address, 7.0));

    // A view is nobody else's if nothing but it refers to the array that it views.
    let array = made("import numpy as np; made = np.arange(8, dtype='f4').reshape(4, 2).T[:, 1:]");
    let there: NdArray = array.convert_with::<Ndarray>(HOST, CopyPolicy::Never).unwrap();
    assert_eq!(numbers(there.host()), [2.0, 4.0, 6.0, 3.0, 5.0, 7.0]);

    let held = [
        "import numpy as np; held = made = np.arange(6, dtype='f4')",
        "import numpy as np; made = np.arange(6, dtype='f4'); view = made[1:]",
        "import numpy as np, weakref; made = np.arange(6, dtype='f4'); weak = weakref.ref(made)",
        "import numpy as np; made = np.arange(6, dtype='f4'); buffer = memoryview(made)",
        "import numpy as np; made = np.arange(6, dtype='f4'); capsule = made.__dlpack__()",
        "import numpy as np; made = np.frombuffer(bytearray(24), dtype='f4')",
        "import numpy as np\nclass Own(np.ndarray): pass\nmade = np.arange(6, dtype='f4').view(Own)",
    ];
    for code in held {
        Python::attach(|py| {
            // The names keep what else holds the memory alive.
            let names = PyDict::new(py);
            py.run(&CString::new(code).unwrap(), Some(&names), None).unwrap();
            let object = names.get_item("made").unwrap().unwrap();
            let array = PyArray::from_object(&object).unwrap();
            names.del_item("made").unwrap();
            drop(object);
            assert_eq!(array.maker(), Maker::Numpy);
            let error = array.convert_with::<Ndarray>(HOST, CopyPolicy::Never).unwrap_err();
            assert!(matches!(error.error(), Error::WouldCopy { .. }), "{code}: {error}");
            let array = error.into_array().unwrap();
            let address = PyLibrary.describe(&array).unwrap().address;
            let there: NdArray = array.convert_to::<Ndarray>(HOST).unwrap();
            assert_ne!(there.host().address(), address, "{code}");
        });
    }
}

#[test]
fn a_view_of_a_python_array_needs_that_nobody_else_holds_it() {
    if !common::python() {
        return;
    }
    let mut array = made("import numpy as np; made = np.arange(3, dtype='f4')");
    assert_eq!(array.host_view().unwrap().as_slice::<f32>().unwrap(), [0.0, 1.0, 2.0]);
    let kept = Python::attach(|py| array.object(py).unbind());
    let error = array.host_view().unwrap_err();
    assert!(error.to_string().contains("Python code holds the array too"), "{error}");
    drop(kept);
    Python::attach(|_| ());
    assert!(array.host_view().is_ok());
}

#[test]
fn arrays_are_given_to_each_library_by_name() {
    if !common::python() {
        return;
    }
    for (name, maker, _) in RAMPS {
        if !common::has(name) || matches!(maker, Maker::Pandas | Maker::Dask) {
            continue;
        }
        let host = HostArray::from_slice(&[1f32, 2.0, 3.0], &[3]).unwrap();
        let array = AnyArray::of::<Ndarray>(NdArray::from_host(host));
        Python::attach(|py| {
            let object = arraybridge_python::to_python(py, array, name).unwrap();
            assert_eq!(Maker::of(&object), *maker, "{name}");
            let back = PyArray::from_object(&object).unwrap();
            let back: NdArray = back.convert_to::<Ndarray>(HOST).unwrap();
            assert_eq!(numbers(back.host()), [1.0, 2.0, 3.0], "{name}");
        });
    }
    let array = AnyArray::of::<Ndarray>(NdArray::zeros(DType::U8, &[2]).unwrap());
    let error = Python::attach(|py| {
        arraybridge_python::to_python(py, array, "nothing").map(|_| ()).unwrap_err()
    });
    assert!(error.to_string().contains("there is: numpy, torch"), "{error}");
    assert!(error.into_array().is_some());
}

#[test]
fn what_numpy_cannot_say_here_is_refused_by_name() {
    if !common::python() {
        return;
    }
    let refused = [
        ("np.arange(3, dtype='>f4')", "byte order"),
        ("np.array(['a', None], dtype=object)", "`object` has no dtype here"),
        ("np.zeros(3, dtype='M8[s]')", "has no dtype here"),
        ("np.zeros(3, dtype=np.longdouble)", "has no dtype here"),
        ("np.zeros(4, dtype=[('a', 'f8'), ('b', 'f4')])['a']", "no multiples"),
        ("np.zeros(2, dtype='u1').view(bool) | True", ""),
    ];
    for (code, text) in refused {
        let array = made(&format!("import numpy as np; made = {code}"));
        match PyLibrary.describe(&array) {
            Ok(_) => assert!(text.is_empty(), "{code} is described"),
            Err(error) => assert!(error.to_string().contains(text) && !text.is_empty(), "{error}"),
        }
    }
    let array = made("import numpy as np; made = np.array([2], dtype='u1').view(bool)");
    let error = array.convert_to::<Ndarray>(HOST).unwrap_err();
    assert!(error.to_string().contains("other than 0 and 1"), "{error}");

    let error = Python::attach(|py| PyArray::from_object(&run(py, "made = 3.5")).unwrap_err());
    assert!(error.to_string().contains("speaks neither DLPack nor the array interface"), "{error}");
}

#[test]
fn nested_sequences_and_objects_with_one_protocol_each_are_arrays() {
    if !common::python() {
        return;
    }
    let class = |body: &str| {
        format!(
            "import numpy as np\nclass Thing:\n  def __init__(self): self.a = np.arange(3, dtype='f4')\n{body}\nmade = Thing()"
        )
    };
    let things = [
        "made = [0.0, 1.0, 2.0]".to_owned(),
        class("  @property\n  def __array_interface__(self): return self.a.__array_interface__"),
        class(
            "  @property\n  def __array_struct__(self): return self.a.__array_struct__\n  __array_interface__ = None",
        ),
        class("  def __array__(self): return self.a"),
        class("  def __array__(self, dtype=None, copy=None): return self.a"),
        class(
            "  def __dlpack__(self): return self.a.__dlpack__()\n  def __dlpack_device__(self): return (1, 0)",
        ),
        class(
            "  def __dlpack__(self, stream=None): return self.a.__dlpack__()\n  def __dlpack_device__(self): return (1, 0)",
        ),
        class(
            "  def __dlpack__(self, *, max_version=None, **others): return self.a.__dlpack__()\n  def __dlpack_device__(self): return (1, 0)",
        ),
    ];
    for code in things {
        let array = made(&code);
        let there: NdArray = array.convert_to::<Ndarray>(HOST).unwrap();
        let host = there.host();
        let first = match host.dtype() {
            DType::F64 => host.as_slice::<f64>().unwrap()[2] as f32,
            _ => host.as_slice::<f32>().unwrap()[2],
        };
        assert_eq!(first, 2.0, "{code}");
    }
}

#[test]
fn a_type_error_inside_of_dlpack_is_not_taken_for_an_unknown_argument() {
    if !common::python() {
        return;
    }
    let code = "class Thing:
  calls = 0
  def __dlpack_device__(self): return (1, 0)
  def __dlpack__(self, **keywords):
    Thing.calls += 1
    raise TypeError(\"got an unexpected keyword argument 'max_version'\")
made = Thing()";
    Python::attach(|py| {
        let object = run(py, code);
        let array = PyArray::from_object(&object).unwrap();
        let error = PyLibrary.describe(&array).unwrap_err();
        let source = std::error::Error::source(&error).unwrap().to_string();
        assert!(source.starts_with("TypeError: got an unexpected"), "{source}");
        let calls: i32 = object.getattr("calls").unwrap().extract().unwrap();
        assert_eq!(calls, 1, "it was asked again");
    });
}

#[test]
fn subclasses_defined_elsewhere_are_recognised() {
    if !common::python() {
        return;
    }
    let array =
        made("import numpy as np\nclass Own(np.ndarray): pass\nmade = np.zeros(3).view(Own)");
    assert_eq!(array.maker(), Maker::Numpy);
    let array = made(
        "import numpy as np\nmade = np.memmap.__new__(np.memmap, __import__('tempfile').TemporaryFile(), dtype='u1', shape=(3,))",
    );
    assert_eq!(array.maker(), Maker::Numpy);
}

#[test]
fn capsules_are_consumed_once_and_release_what_nobody_consumed() {
    if !common::python() {
        return;
    }
    for form in [CapsuleForm::Versioned, CapsuleForm::Legacy] {
        let capsule = |py: Python<'_>, policy| {
            let (host, releases) = Sample { dtype: DType::F32, layout: LAYOUTS[2] }.make().unwrap();
            let address = host.address();
            let array = AnyArray::of::<Ndarray>(NdArray::from_host(host));
            (to_capsule(py, array, form, policy).unwrap().unbind(), releases, address)
        };
        Python::attach(|py| {
            let (unused, releases, _) = capsule(py, CopyPolicy::Never);
            releases.assert_none("a capsule that lives");
            drop(unused);
            releases.assert_once("a capsule that nobody consumed");

            let (used, releases, address) = capsule(py, CopyPolicy::Never);
            let names = PyDict::new(py);
            names.set_item("capsule", used).unwrap();
            let code = c"import numpy as np
class Once:
  def __dlpack__(self, **keywords): return capsule
  def __dlpack_device__(self): return (1, 0)
made = np.from_dlpack(Once())
try:
  np.from_dlpack(Once()); again = 'consumed twice'
except Exception as error: again = type(error).__name__
address = made.__array_interface__['data'][0]";
            py.run(code, Some(&names), None).unwrap();
            let found = |name: &str| names.get_item(name).unwrap().unwrap();
            assert_eq!(found("address").extract::<usize>().unwrap(), address);
            assert_eq!(found("again").extract::<String>().unwrap(), "ValueError");
            let thing = found("Once").call0().unwrap();
            let array = PyArray::from_object(&thing).unwrap();
            let error = PyLibrary.describe(&array).unwrap_err().to_string();
            assert!(error.contains("was taken already"), "{error}");
            releases.assert_none("a consumed tensor that lives");
            drop(array);
            drop(thing);
            names.clear();
            releases.assert_once("a consumed tensor");
        });
        // Memory that others hold is copied, or refused.
        let host = HostArray::from_slice(&[1f32], &[1]).unwrap();
        let shared = || AnyArray::of::<Ndarray>(NdArray::from_host(host.clone()));
        Python::attach(|py| {
            let error = to_capsule(py, shared(), form, CopyPolicy::Never).unwrap_err();
            assert!(matches!(error.error(), Error::WouldCopy { .. }), "{error}");
            assert!(error.into_array().is_some());
            to_capsule(py, shared(), form, CopyPolicy::Allow).unwrap();
        });
    }
}

#[test]
fn cells_read_where_the_elements_are_and_see_what_python_writes() {
    if !common::python() {
        return;
    }
    Python::attach(|py| {
        let object = run(py, "import numpy as np; made = np.arange(6.0).reshape(2, 3).T");
        let array = PyArray::from_object(&object).unwrap();
        let cells = array.cells::<f64>(py).unwrap();
        assert_eq!((cells.shape(), cells.get(&[2, 1])), (&[3, 2][..], Some(5.0)));
        object.set_item((2, 1), 50.0).unwrap();
        assert_eq!(cells.get(&[2, 1]), Some(50.0));
        assert_eq!((cells.get(&[3, 0]), cells.get(&[0])), (None, None));
        assert!(array.cells::<f32>(py).is_err());
        assert_eq!(Cells::<f64>::of(&object).unwrap().get(&[2, 1]), Some(50.0));
        // What NumPy makes an array of is read as that.
        for (made, index) in [("[[1.5]]", &[0, 0][..]), ("np.float64(1.5)", &[])] {
            let object = run(py, &format!("import numpy as np; made = {made}"));
            assert_eq!(Cells::<f64>::of(&object).unwrap().get(index), Some(1.5), "{made}");
        }
        assert!(Cells::<f64>::of(py.None().bind(py)).is_err());

        let flags = run(py, "import numpy as np; made = np.array([2], dtype='u1').view(bool)");
        let flags = PyArray::from_object(&flags).unwrap();
        assert!(flags.cells::<bool>(py).is_err());
        assert_eq!(flags.cells::<u8>(py).unwrap().get(&[0]), Some(2));

        let odd = run(py, "import numpy as np; made = np.zeros(9, 'u1')[1:].view('f8')");
        let error = PyArray::from_object(&odd).unwrap().cells::<f64>(py).unwrap_err();
        assert!(error.to_string().contains("under-aligned"), "{error}");
    });
}

#[test]
fn an_array_whose_cells_are_read_is_not_resized() {
    if !common::python() {
        return;
    }
    Python::attach(|py| {
        // The array's one reference is that of the arguments, and called so, `resize` adds none.
        let code = "import functools, numpy as np; \
                    made = functools.partial(np.ndarray.resize, np.full(10, 7.0), (8_000_000,))";
        let resize = run(py, code);
        let cells = {
            let arguments = resize.getattr("args").unwrap();
            Cells::<f64>::of(&arguments.get_item(0).unwrap()).unwrap()
        };
        let error = resize.call0().unwrap_err();
        assert!(error.to_string().contains("resize"), "{error}");
        assert_eq!(cells.get(&[9]), Some(7.0));
        drop(cells);
        resize.call0().unwrap();
    });
}

#[test]
fn torch_gets_no_memory_that_its_owner_never_changes() {
    if !common::python() || !common::has("torch") {
        return;
    }
    let made = "import numpy as np
held = np.arange(3.0)
held.flags.writeable = False
class Kept:
  held = held
  def __dlpack__(self, *, max_version=None, **others): return held.__dlpack__(max_version=max_version)
  def __dlpack_device__(self): return (1, 0)
made = Kept()";
    Python::attach(|py| {
        let object = run(py, made);
        let tensor = PyArray::from_object(&object).unwrap().into_maker("torch").unwrap();
        tensor.object(py).call_method1("fill_", (9,)).unwrap();
        let held: Vec<f64> = object.getattr("held").unwrap().extract().unwrap();
        assert_eq!(held, [0.0, 1.0, 2.0]);
    });
}

#[test]
fn memory_lives_as_long_as_what_told_of_it() {
    if !common::python() {
        return;
    }
    // Each makes an array for each reader, which lives in the capsule that the reader gets.
    let fresh = "import numpy as np
class Fresh:
  @property
  def __array_struct__(self): return np.full((), 3.5).__array_struct__
made = Fresh()";
    for code in ["import numpy as np; made = np.float64(3.5)", fresh] {
        Python::attach(|py| {
            let array = PyArray::from_object(&run(py, code)).unwrap();
            let cells = array.cells::<f64>(py).unwrap();
            let others = "import numpy as np; made = [np.array(float(i)) for i in range(200)]";
            let others = run(py, others);
            assert_eq!((cells.get(&[]), others.len().unwrap()), (Some(3.5), 200), "{code}");
        });
    }
}

#[test]
fn bytes_of_bool_that_python_wrote_are_checked_and_the_array_comes_back() {
    if !common::python() {
        return;
    }
    for shape in [&[3][..], &[1, 3]] {
        let host = HostArray::from_slice(&[true, false, true], shape).unwrap();
        let array = AnyArray::of::<Ndarray>(NdArray::from_host(host));
        let array = Python::attach(|py| {
            let object = arraybridge_python::to_python(py, array, "numpy").unwrap();
            let bytes = object.call_method1("view", ("u1",)).unwrap();
            bytes.call_method1("fill", (2,)).unwrap();
            if shape.len() > 1 {
                object.setattr("shape", (3, 1)).unwrap();
            }
            drop(bytes);
            let array = PyArray::from_object(&object).unwrap();
            drop(object);
            array
        });
        let error = array.convert_with::<Ndarray>(HOST, CopyPolicy::Never).unwrap_err();
        assert!(error.to_string().contains("other than 0 and 1"), "{error}");
        let mut array = error.into_array().unwrap();
        let error = array.host_view().unwrap_err();
        assert!(error.to_string().contains("other than 0 and 1"), "{error}");
        let array = array.convert_to::<Ndarray>(HOST).unwrap_err().into_array().unwrap();
        assert_eq!(PyLibrary.describe(&array).unwrap().dtype, DType::Bool);
    }
}

#[test]
fn memory_is_shared_unchecked_where_the_caller_vouches_for_it() {
    if !common::python() {
        return;
    }
    Python::attach(|py| {
        let object = run(py, "import numpy as np; made = np.arange(6, dtype='f4')");
        let array = PyArray::from_object(&object).unwrap();
        let address = PyLibrary.describe(&array).unwrap().address;
        // SAFETY: nothing writes the array while it is shared.
        let shared = unsafe { array.share_unchecked(Access::Immutable) }.unwrap();
        drop((array, object));
        assert_eq!((shared.address(), numbers(&shared)[5]), (address, 5.0));
        let mut shared = shared;
        assert!(shared.as_slice_mut::<f32>().is_err());
    });
}

#[test]
fn results_of_numpy_go_back_to_the_library_without_a_copy() {
    if !common::python() {
        return;
    }
    let host = HostArray::from_slice(&[1f32, 2.0, 3.0], &[3]).unwrap();
    let array = AnyArray::of::<Ndarray>(NdArray::from_host(host));
    let (made, records) = watch(|| {
        Python::attach(|py| {
            let array = Bound::new(py, Array::new(array).unwrap()).unwrap();
            let made = py.import("numpy").unwrap().call_method1("exp", (array,)).unwrap();
            made.getattr("library").unwrap().extract::<String>().unwrap()
        })
    });
    assert_eq!(made, "ndarray");
    assert!(records.iter().all(|record| !record.copied), "{records:?}");
}

#[test]
fn memory_is_released_attached_also_where_native_code_has_let_go_of_the_interpreter() {
    if !common::python() {
        return;
    }
    let code = c"__import__('numpy').ones(4).view(type('Told', (__import__('numpy').ndarray,), \
                 {'__del__': lambda self: setattr(__import__('numpy'), 'released', True)}))";
    Python::attach(|py| {
        let array = PyArray::from_object(&py.eval(code, None, None).unwrap()).unwrap();
        // SAFETY: nobody writes the array.
        let host = unsafe { array.share_unchecked(Access::Immutable) }.unwrap();
        drop(array);
        // SAFETY: attached, and restored below; no Python code runs in between but what drops.
        let state = unsafe { arraybridge_python::pyo3::ffi::PyEval_SaveThread() };
        drop(host);
        // SAFETY: this thread's state, saved above.
        unsafe { arraybridge_python::pyo3::ffi::PyEval_RestoreThread(state) };
        assert!(py.import("numpy").unwrap().hasattr("released").unwrap());
    });
}

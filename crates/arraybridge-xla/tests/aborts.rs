//! What plugins are known to abort the process on, in child processes: each ends with an error
//! value or a result, and none of them dies.

#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use arraybridge_core::ops::{HostExchange, Math, Ops};
use arraybridge_core::{DType, Error, HOST, HostArray};
use arraybridge_xla::{Program, Xla, XlaArray};

fn small() -> XlaArray {
    Xla::from_host(&HostArray::from_slice(&[1.0f32, 2.0], &[2]).unwrap(), HOST).unwrap()
}

fn compile(text: &str) -> Result<Program, Error> {
    // SAFETY: none of the programs below calls out of XLA; those that do not compile do not run.
    unsafe { Program::compile(text, HOST) }
}

/// One case by its name; returns normally in every case.
fn run(case: &str) {
    match case {
        "overflowing shape" => {
            assert!(Xla::ones(&[1 << 40, 1 << 40], DType::F32).is_err());
            assert!(Xla::broadcast_to(&small(), &[1 << 40, 1 << 40, 2]).is_err());
        }
        "more than there is" => {
            let error =
                Xla::ones(&[1 << 45], DType::U8).and_then(|array| array.wait().map(|()| array));
            let error = error.unwrap_err();
            assert!(arraybridge_core::Library::of::<Xla>().is_out_of_memory(&error), "{error:?}");
        }
        "overflowing shape without elements" => {
            let shape = [0, 1 << 40, 1 << 40];
            assert!(Xla::ones(&shape, DType::F32).is_err());
        }
        "many axes" => {
            for rank in [9, 33, 70, 300] {
                let host = HostArray::from_slice(&[1.0f32], &vec![1; rank]).unwrap();
                if let Ok(array) = Xla::from_host(&host, HOST) {
                    let _ = Xla::sum(&array, 0);
                }
            }
        }
        "not a program" => {
            assert!(compile("this is not mlir").is_err());
            assert!(compile("func @main(%a: tensor<2xf32>) garbage").is_err());
            assert!(compile("").is_err());
        }
        "wrong types inside" => {
            let text = "module @m { func.func public @main(%a: tensor<2xf32>) -> tensor<3xf32> { \
                return %a : tensor<2xf32> } }";
            assert!(compile(text).is_err());
        }
        "wrong arguments" => {
            let text = "module @m { func.func public @main(%a: tensor<2xi32>) -> tensor<2xi32> { \
                return %a : tensor<2xi32> } }";
            let program = compile(text).unwrap();
            let (array, other) = (small(), Xla::ones(&[3], DType::I32).unwrap());
            assert!(matches!(program.run(&[&array]), Err(Error::DtypeMismatch { .. })));
            assert!(matches!(program.run(&[&other]), Err(Error::ShapeMismatch { .. })));
            assert!(matches!(program.run(&[]), Err(Error::InvalidArgument { .. })));
        }
        "work in flight at the end" => {
            let wide = Xla::ones(&[2000, 2000], DType::F32).unwrap();
            let text = "module @m { func.func public @main(%a: tensor<2000x2000xf32>) -> \
                tensor<2000x2000xf32> { %0 = stablehlo.dot_general %a, %a, contracting_dims = [1] \
                x [0] : (tensor<2000x2000xf32>, tensor<2000x2000xf32>) -> tensor<2000x2000xf32> \
                return %0 : tensor<2000x2000xf32> } }";
            let outputs = compile(text).unwrap().run(&[&wide]).unwrap();
            drop((wide, outputs));
        }
        other => panic!("no case `{other}`"),
    }
}

const CASES: [&str; 8] = [
    "overflowing shape",
    "more than there is",
    "overflowing shape without elements",
    "many axes",
    "not a program",
    "wrong types inside",
    "wrong arguments",
    "work in flight at the end",
];

#[test]
fn no_case_kills_its_process() {
    if let Some(case) = common::case() {
        return run(&case);
    }
    if common::plugin() {
        common::each_in_a_child("no_case_kills_its_process", &CASES, &[]);
    }
}

#[test]
fn a_file_that_is_no_plugin_is_broken_and_said_so() {
    let folder = std::env::temp_dir().join(format!("arraybridge-xla-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("pjrt_c_api_cpu_plugin.so");
    std::fs::write(&file, "not a library").unwrap();
    for (plugin, wanted) in
        [(file.as_path(), "broken"), (folder.join("missing.so").as_path(), "broken")]
    {
        let variables = [("ARRAYBRIDGE_XLA_PLUGIN", plugin.to_str().unwrap())];
        let child = common::child("the_availability_is_printed", "", &variables);
        let text = String::from_utf8_lossy(&child.stdout).into_owned();
        assert!(child.status.success() && text.contains(wanted), "{text}");
        assert!(text.contains(&plugin.display().to_string()), "{text}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
#[ignore = "run as a child by another test, with a variable set"]
fn the_availability_is_printed() {
    use arraybridge_core::ArrayLibrary;
    println!("{} / {:?}", Xla.availability(), Xla.devices().map_err(|error| error.to_string()));
}

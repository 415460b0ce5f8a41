//! Libraries by name: aliases, two under one name, none.
#![allow(clippy::unwrap_used, clippy::panic)]

use arraybridge_core::{
    AnyArray, Convert, Device, Error, HOST, HostArray, Library, Mechanism, libraries, library,
    plan, register,
};
use arraybridge_testkit::mock::{Accelerated, Character, Mock, MockArray, Traits, Wrapping};
use arraybridge_testkit::watch;

enum First {}
enum Second {}

impl Character for First {
    const TRAITS: Traits =
        Traits { name: "twin", aliases: &["one", "mock-wrapping"], ..Traits::EVERYWHERE };
}

impl Character for Second {
    const TRAITS: Traits = Traits { name: "twin", aliases: &["other"], ..Traits::EVERYWHERE };
}

fn setup() {
    register::<Mock<First>>();
    register::<Mock<Second>>();
    register::<Mock<Second>>();
    register::<Wrapping>();
    register::<Accelerated>();
}

#[test]
fn two_libraries_under_one_name_are_an_error_that_names_both() {
    setup();
    let error = library("twin").unwrap_err();
    assert!(matches!(error, Error::LibraryAmbiguous { .. }), "{error}");
    let text = error.to_string();
    assert!(text.starts_with("two libraries are registered as `twin`: "), "{text}");
    assert!(text.contains("names::First") && text.contains("names::Second"), "{text}");
    let advice = "use another name of the one that is meant, or its type, or leave the crate of the \
                  other out";
    assert!(text.ends_with(advice), "{text}");
    assert_eq!(plan("twin", HOST, "twin", HOST).unwrap_err().to_string(), text);

    let host = HostArray::from_vec(vec![1u8], &[1]).unwrap();
    let array = AnyArray::of::<Wrapping>(MockArray::new(host, HOST).unwrap());
    let error = array.convert_by_name("twin", HOST).unwrap_err();
    assert!(matches!(error.error(), Error::LibraryAmbiguous { .. }));
    assert!(error.into_array().is_some());
}

#[test]
fn other_names_of_such_libraries_keep_working() {
    setup();
    assert!(library("one").unwrap().is::<Mock<First>>());
    assert!(library("other").unwrap().is::<Mock<Second>>());
    assert!(library("mock-gpu").unwrap().is::<Accelerated>());
    assert!(library("mock-wrapping").unwrap().is::<Wrapping>(), "a name wins over an alias");
    let listed = libraries();
    assert!(listed.windows(2).all(|pair| pair[0].name() <= pair[1].name()), "{listed:?}");
    let twins = listed.iter().filter(|library| library.name() == "twin").count();
    assert_eq!(twins, 2, "registering twice does nothing");
}

#[test]
fn libraries_of_one_name_are_still_two_libraries() {
    let host = HostArray::from_vec(vec![1u8, 2, 3], &[3]).unwrap();
    let first = MockArray::<First>::new(host, HOST).unwrap();
    let (second, records) = watch(|| first.convert_to::<Mock<Second>>(HOST));
    assert_eq!(records[0].mechanism, Mechanism::Dlpack);
    let gpu = Device::Accelerator(0);
    let (first, records) = watch(|| second.unwrap().convert_to::<Mock<First>>(gpu));
    assert_eq!(records[0].mechanism, Mechanism::Dlpack, "not a move of another library's array");
    assert_eq!(first.unwrap().device(), gpu);
    assert_ne!(Library::of::<Mock<First>>(), Library::of::<Mock<Second>>());
}

#[test]
fn an_unknown_name_lists_what_is_registered() {
    setup();
    let error = library("no-such-library").unwrap_err();
    let Error::LibraryNotRegistered { name, registered, feature: None, .. } = &error else {
        panic!("{error}");
    };
    assert_eq!(name, "no-such-library");
    assert!(registered.contains(&"mock-wrapping") && registered.contains(&"mock-accelerated"));
    let text = error.to_string();
    assert!(
        text.starts_with("no library `no-such-library` is registered; registered: `"),
        "{text}"
    );
    assert!(text.contains("`mock-accelerated`, `mock-wrapping`"), "{text}");
}

#[test]
fn a_wrong_stated_library_is_an_error_that_gives_the_array_back() {
    let host = HostArray::from_vec(vec![1u8], &[1]).unwrap();
    let array = AnyArray::of::<Wrapping>(MockArray::new(host, HOST).unwrap());
    let stated = Library::of::<Accelerated>();
    let error = array.convert_from(stated, stated, HOST).unwrap_err();
    assert_eq!(error.to_string(), "the array belongs to mock-wrapping, not to mock-accelerated");
    let array = error.into_array().unwrap();
    let error = array.into_array_of::<Accelerated>().unwrap_err();
    assert_eq!(error.to_string(), "the array belongs to mock-wrapping, not to mock-accelerated");
    let array = error.into_array().unwrap();
    assert!(array.as_array_of::<Accelerated>().is_none());
    assert!(array.as_array_of::<Wrapping>().is_some());
    assert!(array.into_array_of::<Wrapping>().is_ok());
}

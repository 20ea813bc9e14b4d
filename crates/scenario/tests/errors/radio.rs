//! Errors of `[radio]`.

use crate::support::{Case, ROAM, WALK, assert_messages};

/// Of the file in which a station roams.
const ROAMING: &[Case] =
    &[("air for nobody", "[[flows]]", "[radio]\nlink = {rate = \"54Mbit/s\", delay = \"1ms\"}\n[[flows]]")];

/// Of the shipped file in which a station walks.
const WALKING: &[Case] = &[
    ("an unknown propagation", "\"two-ray-ground\"", "\"ether\""),
    ("an exponent out of bounds", "\"two-ray-ground\"", "{log-distance = {exponent = 0.5}}"),
    ("a height for a model without", "\"two-ray-ground\"", "\"free-space\"\nantenna_height = \"2m\""),
    ("no height", "\"two-ray-ground\"", "\"two-ray-ground\"\nantenna_height = \"0m\""),
    ("channels that are none", "\"two-ray-ground\"", "\"two-ray-ground\"\nchannels = []"),
];

#[test]
fn messages() {
    assert_messages("radio", &[(ROAM, ROAMING), (WALK, WALKING)]);
}

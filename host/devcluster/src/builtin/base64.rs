//! Base64 as Go's `encoding/base64` reads and writes it: line breaks are skipped, and padding is
//! needed.

use base64::Engine as _;
use base64::alphabet::STANDARD as ALPHABET;
use base64::engine::general_purpose::{GeneralPurpose, PAD, STANDARD};

/// Go ignores the bits that the last letter has too many.
const READER: GeneralPurpose = GeneralPurpose::new(&ALPHABET, PAD.with_decode_allow_trailing_bits(true));

pub(crate) fn encode(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// Decodes text; `None` if it is not base64.
pub(crate) fn decode(text: &str) -> Option<Vec<u8>> {
    READER.decode(text.replace(['\n', '\r'], "")).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_encoded_is_decoded(bytes: Vec<u8>) {
            prop_assert_eq!(decode(&encode(&bytes)), Some(bytes));
        }

        #[test]
        fn any_text_is_decoded_or_refused(text: String) {
            let _ = decode(&text);
        }
    }

    #[test]
    fn text_is_read_as_go_reads_it() {
        for text in ["!!!", "Zg", "Zg=", "Zg==x", "====", "Zm8=Zm8=", "Zm9v ", "Zm-_"] {
            assert_eq!(decode(text), None, "{text}");
        }
        assert_eq!(decode("Zm\n9v\r\n"), Some(b"foo".to_vec()));
        assert_eq!(decode("Zh=\n="), Some(b"f".to_vec()));
    }
}

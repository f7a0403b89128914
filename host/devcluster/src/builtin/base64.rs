//! Base64 like Go's `encoding/base64`: line breaks are ignored, padding is required.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

pub(crate) fn encode(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// Decodes text. The error is the position of the invalid byte.
pub(crate) fn decode(text: &str) -> Result<Vec<u8>, usize> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let (mut group, mut count) = (0_u32, 0_usize);
    let mut letters = text.bytes().enumerate().filter(|(_, letter)| !matches!(letter, b'\n' | b'\r'));
    while let Some((position, letter)) = letters.next() {
        if letter == b'=' {
            let complete = match count {
                2 => letters.next().is_some_and(|(_, letter)| letter == b'='),
                3 => true,
                _ => return Err(position),
            };
            if !complete {
                return Err(text.len());
            }
            if let Some((position, _)) = letters.next() {
                return Err(position);
            }
            let padded = group << (6 * (4 - count));
            let decoded = [(padded >> 16) as u8, (padded >> 8) as u8];
            bytes.extend(decoded.iter().take(count - 1));
            return Ok(bytes);
        }
        let Some(value) = ALPHABET.iter().position(|known| *known == letter) else { return Err(position) };
        group = group << 6 | u32::try_from(value).unwrap_or_default();
        count += 1;
        if count == 4 {
            bytes.extend([(group >> 16) as u8, (group >> 8) as u8, group as u8]);
            (group, count) = (0, 0);
        }
    }
    if count == 0 { Ok(bytes) } else { Err(text.len() - count) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn decoding_reverses_encoding(bytes: Vec<u8>) {
            prop_assert_eq!(decode(&encode(&bytes)), Ok(bytes));
        }

        #[test]
        fn any_text_is_decoded_or_refused(text: String) {
            let _ = decode(&text);
        }
    }

    #[test]
    fn errors_state_the_position() {
        assert_eq!(decode("!!!"), Err(0));
        assert_eq!(decode("Zg"), Err(0));
        assert_eq!(decode("Zg==x"), Err(4));
        assert_eq!(decode("Zm\n9v\n"), Ok(b"foo".to_vec()));
    }
}

//! Fingerprints of texts, for names and for annotations that change with their inputs.

/// 64 bits at 5 bits a character.
pub(crate) const LENGTH: usize = 13;

/// Separates texts, so that `["ab", "c"]` and `["a", "bc"]` differ. UTF-8 does not contain this byte.
const END: u8 = 0xff;

/// Returns a fingerprint of texts: 13 lower-case letters and digits. Equal texts have equal fingerprints; other texts, or the same texts in
/// another order, have others, but for a collision of 64 bits. Collisions can be made on purpose, so a fingerprint does not prove where
/// something came from.
///
/// ```
/// use gyre_sdk::fingerprint;
///
/// assert_eq!(fingerprint(["index.html", "Good day."]), "7p6zycpx6db4p");
/// assert_ne!(fingerprint(["index.html", "Good day."]), fingerprint(["index.htmlGood ", "day."]));
/// ```
pub fn fingerprint<'a>(texts: impl IntoIterator<Item = &'a str>) -> String {
    let mut hash = OFFSET_BASIS;
    for text in texts {
        hash = add(hash, text.as_bytes());
        hash = add(hash, &[END]);
    }
    let mut fingerprint = String::with_capacity(LENGTH);
    push(&mut fingerprint, hash);
    fingerprint
}

/// Appends the fingerprint of the text alone, as children are named by.
pub(crate) fn push_of(label: &mut String, text: &str) {
    push(label, add(OFFSET_BASIS, text.as_bytes()));
}

/// 64 bits of FNV-1a: stable for ever, and a few instructions long.
const OFFSET_BASIS: u64 = 0xcbf2_9ce4_8422_2325;

fn add(hash: u64, bytes: &[u8]) -> u64 {
    const PRIME: u64 = 0x0000_0100_0000_01b3;
    bytes.iter().fold(hash, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(PRIME))
}

/// In base 32.
fn push(text: &mut String, mut hash: u64) {
    for _ in 0..LENGTH {
        let digit = (hash & 31) as u8;
        text.push(char::from(if digit < 26 { b'a' + digit } else { b'2' + (digit - 26) }));
        hash >>= 5;
    }
}

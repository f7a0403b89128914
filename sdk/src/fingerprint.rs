//! Fingerprints of texts, for names and for annotations that change with their inputs.

/// 64 bits at 5 bits a character.
pub(crate) const LENGTH: usize = 13;

/// Separates texts: `["ab", "c"]` and `["a", "bc"]` differ. UTF-8 does not contain this byte.
const END: u8 = 0xff;

/// Returns a fingerprint of texts: 13 lower-case letters and digits, from a 64-bit hash that never
/// changes. It depends on the order of the texts. It is no proof of origin, because collisions can
/// be constructed.
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

/// Appends the fingerprint of one text without a separator, as names of children have it.
pub(crate) fn push_of(label: &mut String, text: &str) {
    push(label, add(OFFSET_BASIS, text.as_bytes()));
}

/// The 64-bit FNV-1a hash, because it never changes and takes few instructions.
const OFFSET_BASIS: u64 = 0xcbf2_9ce4_8422_2325;

fn add(hash: u64, bytes: &[u8]) -> u64 {
    const PRIME: u64 = 0x0000_0100_0000_01b3;
    bytes.iter().fold(hash, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(PRIME))
}

/// Appends the hash in base 32.
fn push(text: &mut String, mut hash: u64) {
    for _ in 0..LENGTH {
        let digit = (hash & 31) as u8;
        text.push(char::from(if digit < 26 { b'a' + digit } else { b'2' + (digit - 26) }));
        hash >>= 5;
    }
}

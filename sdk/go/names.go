package gyre

import "strings"

// labelLimit is the maximum length of a DNS label (RFC 1123).
const labelLimit = 63

// fingerprintLength is the number of characters of 64 bits at 5 bits a character.
const fingerprintLength = 13

// DNSLabel returns the name if it is a valid DNS label (RFC 1123). Otherwise, it returns a label with
// the start of the name and a 64-bit hash of all of it. The same name always gives the same label, in
// all languages.
func DNSLabel(name string) string { return DNSLabelWithin(name, labelLimit) }

// DNSLabelWithin is like DNSLabel, with at most limit characters, e.g. 52 for a CronJob. A limit below
// 15 counts as 15, and one above 63 as 63.
func DNSLabelWithin(name string, limit int) string {
	limit = min(max(limit, fingerprintLength+2), labelLimit)
	if len(name) <= limit && isDNSLabel(name) {
		return name
	}
	label := startOf(name, limit, func(letter rune) bool { return isLetter(letter) || isDigit(letter) })
	if label != "" {
		label += "-"
	}
	return label + hash(name).String()
}

// ServiceLabel is like DNSLabel, but begins with a letter (RFC 1035), as the name of a Service must.
func ServiceLabel(name string) string {
	if len(name) <= labelLimit && isDNSLabel(name) && isLetter(rune(name[0])) {
		return name
	}
	label := startOf(name, labelLimit, isLetter)
	if label == "" {
		// The hash may begin with a digit.
		label = "x"
	}
	return label + "-" + hash(name).String()
}

// Fingerprint returns 13 lower-case letters and digits, from a 64-bit hash of texts that never
// changes. It depends on the order of the texts. It is no proof of origin, because collisions can be
// constructed. An annotation of a Pod template with the fingerprint of its configuration restarts the
// Pods when that changes.
func Fingerprint(texts ...string) string {
	var all strings.Builder
	for _, text := range texts {
		all.WriteString(text)
		// UTF-8 does not contain this byte, so that "ab", "c" and "a", "bc" differ.
		all.WriteByte(0xff)
	}
	return hash(all.String()).String()
}

// startOf returns the part of a label before the hyphen and hash.
func startOf(name string, limit int, mayBeFirst func(rune) bool) string {
	var label strings.Builder
	count := 0
	for _, letter := range name {
		if count++; count > limit-fingerprintLength-1 {
			break
		}
		if letter >= 'A' && letter <= 'Z' {
			letter += 'a' - 'A'
		}
		switch {
		case label.Len() == 0 && !mayBeFirst(letter):
		case isLetter(letter) || isDigit(letter):
			label.WriteRune(letter)
		default:
			label.WriteByte('-')
		}
	}
	return strings.TrimRight(label.String(), "-")
}

func isLetter(letter rune) bool { return letter >= 'a' && letter <= 'z' }

func isDigit(letter rune) bool { return letter >= '0' && letter <= '9' }

func isDNSLabel(name string) bool {
	if name == "" || name[0] == '-' || name[len(name)-1] == '-' {
		return false
	}
	for _, letter := range name {
		if !isLetter(letter) && !isDigit(letter) && letter != '-' {
			return false
		}
	}
	return true
}

// fnv is a 64-bit FNV-1a hash.
type fnv uint64

func hash(text string) fnv {
	const offset, prime = 0xcbf2_9ce4_8422_2325, 0x0000_0100_0000_01b3
	sum := fnv(offset)
	for index := range len(text) {
		sum = (sum ^ fnv(text[index])) * prime
	}
	return sum
}

// String returns the hash in base 32, with the lowest digit first.
func (h fnv) String() string {
	const digits = "abcdefghijklmnopqrstuvwxyz234567"
	var text [fingerprintLength]byte
	for index := range text {
		text[index] = digits[h&31]
		h >>= 5
	}
	return string(text[:])
}

"""Names for children: those of the SDK for Rust."""

import random

from gyre.names import dns_label, fingerprint, service_label


def test_the_hash_never_changes():
    # Existing clusters have children with these names.
    assert dns_label("hello.world") == "hello-world-53hocbaalbhrb"
    assert fingerprint("index.html", "Good day.") == "7p6zycpx6db4p"
    assert fingerprint("ab", "c") != fingerprint("a", "bc")


def test_every_name_becomes_a_label_within_the_limit():
    letters = random.Random(0)
    for _ in range(500):
        name = "".join(letters.choice("abZ09.-_ä") for _ in range(letters.randrange(80)))
        limit = letters.randrange(80)
        label = dns_label(name, limit)
        assert len(label) <= min(max(limit, 15), 63)
        assert label.isascii() and label == label.lower() and label[0] != "-" and label[-1] != "-"
        assert dns_label(label, limit) == label
        assert service_label(name)[0].isalpha()

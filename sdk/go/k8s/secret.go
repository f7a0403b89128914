package k8s

import (
	"encoding/json"
	"strings"

	"gyre.dev/gyre"
)

// Secret holds secret data. Values that the host makes are in Generated:
//
//	k8s.Secret{
//		Object: gyre.Named("db"),
//		Generated: map[string]k8s.Generated{
//			"password": {Value: k8s.Password{Length: 24}},
//			"url":      {Value: k8s.Text("postgres://app:{password}@db/app")},
//			"ca.crt":   {Value: k8s.Certificate{PrivateKey: "ca.key", IsCA: true, CommonName: "db"}},
//			"tls.crt":  {Value: k8s.Certificate{PrivateKey: "tls.key", Issuer: k8s.SignedBy("ca.crt"), DNSNames: []string{"db"}}},
//		},
//	}
type Secret struct {
	gyre.Object
	// Data contains the values. Encoding in base64 is done by encoding/json.
	Data map[string][]byte `json:"data,omitempty"`
	// Generated asks the host for values, by their keys in Data. The plugin never sees them: what it
	// reads has placeholders in Data, see GeneratedDigest.
	Generated map[string]Generated `json:"-"`
	// Immutable, if set to true, ensures that data stored in the Secret cannot be updated.
	Immutable *bool `json:"immutable,omitempty"`
	// StringData allows specifying non-binary secret data in string form. It is never read.
	StringData map[string]string `json:"stringData,omitempty"`
	// Type is used to facilitate programmatic handling of secret data.
	Type string `json:"type,omitempty"`
}

// GroupVersionKind returns the kind.
func (Secret) GroupVersionKind() gyre.GroupVersionKind { return gyre.Kind("v1", "Secret") }

// MarshalJSON returns the Secret with the requests for values among its data.
func (s Secret) MarshalJSON() ([]byte, error) {
	type plain Secret
	if len(s.Generated) == 0 {
		return json.Marshal(plain(s))
	}
	data := map[string]any{}
	for key, value := range s.Data {
		data[key] = value
	}
	for key, request := range s.Generated {
		data[key] = request
	}
	return json.Marshal(struct {
		plain
		Data map[string]any `json:"data"`
	}{plain(s), data})
}

// GeneratedDigest returns the digest of a value that the host has made, of a Secret that was read, and
// "" if there is none yet. It changes with the value, and nobody can find out the value by it. In an
// annotation of a Pod template, it restarts the Pods when the value changes.
func (s Secret) GeneratedDigest(key string) string {
	digest, isGenerated := strings.CutPrefix(string(s.Data[key]), "gyre-generated:")
	if !isGenerated {
		return ""
	}
	return digest
}

// Generated is a request for a value. It is made once and then kept, also if the request changes. Texts
// and hashes follow the values that they contain. Certificates are made again if their fields change,
// and are renewed in time.
type Generated struct {
	Value Generator
	// Epoch makes a new value if it is higher than before, e.g. one of a spec that people increase.
	Epoch uint64
}

// MarshalJSON returns the request as the contract has it.
func (g Generated) MarshalJSON() ([]byte, error) {
	request := map[string]any{"generate": map[string]any{g.Value.generator(): g.Value}}
	if g.Epoch > 0 {
		request["epoch"] = g.Epoch
	}
	return json.Marshal(request)
}

// Generator is RandomBytes, Password, KeyPair, Certificate, Text or Hash.
type Generator interface{ generator() string }

// RandomBytes are random bytes.
type RandomBytes struct {
	// Length is at most 1024.
	Length int `json:"length"`
	// Encoding is raw, hex, base64 or base64Url. Empty is raw.
	Encoding string `json:"encoding,omitempty"`
}

// Password is a random text.
type Password struct {
	// Length is at most 256.
	Length int `json:"length"`
	// Alphabet has the characters, each equally probable. Empty is the ASCII letters and digits.
	Alphabet string `json:"alphabet,omitempty"`
}

// Algorithm is an algorithm of keys.
type Algorithm string

// The algorithms. RSA with 4096 bits takes the host seconds.
const (
	Ed25519   Algorithm = "ed25519"
	ECDSAP256 Algorithm = "ecdsa-p256"
	RSA2048   Algorithm = "rsa-2048"
	RSA3072   Algorithm = "rsa-3072"
	RSA4096   Algorithm = "rsa-4096"
)

// KeyPair is a private key.
type KeyPair struct {
	// Algorithm is ECDSAP256 if it is empty.
	Algorithm Algorithm `json:"algorithm,omitempty"`
	// Format is pem (PKCS #8) or ssh, as ssh-keygen writes it. Empty is pem.
	Format string `json:"format,omitempty"`
	// PublicKey is the key of Data for the public key. Empty is none.
	PublicKey string `json:"publicKey,omitempty"`
}

// Certificate is an X.509 certificate in PEM.
type Certificate struct {
	// PrivateKey is the key of Data for its private key.
	PrivateKey string `json:"privateKey"`
	// Issuer signs it. Nil is the certificate itself.
	Issuer *Issuer `json:"issuer,omitempty"`
	// CACertificate is the key of Data for the certificate of the issuer. Empty is none.
	CACertificate string `json:"caCertificate,omitempty"`
	// IsCA says whether it may sign others. It then keeps its private key when it is renewed.
	IsCA        bool     `json:"isCa,omitempty"`
	CommonName  string   `json:"commonName,omitempty"`
	DNSNames    []string `json:"dnsNames,omitempty"`
	IPAddresses []string `json:"ipAddresses,omitempty"`
	// Usages are server and client. Empty is server.
	Usages []string `json:"usages,omitempty"`
	// Algorithm is that of its key: ECDSAP256 if it is empty.
	Algorithm Algorithm `json:"algorithm,omitempty"`
	// LifetimeSeconds is from an hour to 30 years. Zero is 90 days.
	LifetimeSeconds int64 `json:"lifetimeSeconds"`
	// RenewBeforeSeconds is at most half of the lifetime. Zero is a third of it.
	RenewBeforeSeconds int64 `json:"renewBeforeSeconds,omitempty"`
}

// ninetyDays is the lifetime of a certificate that sets none, in seconds.
const ninetyDays = 90 * 24 * 60 * 60

// MarshalJSON returns the request as the contract has it.
func (c Certificate) MarshalJSON() ([]byte, error) {
	type plain Certificate
	if c.LifetimeSeconds == 0 {
		c.LifetimeSeconds = ninetyDays
	}
	return json.Marshal(plain(c))
}

// Issuer signs a certificate: see SignedBy and SignedBySecret.
type Issuer struct {
	Key    string        `json:"key,omitempty"`
	Secret *IssuerSecret `json:"secret,omitempty"`
}

// IssuerSecret is a Secret with a certificate that signs others.
type IssuerSecret struct {
	Name string `json:"name"`
	// Namespace is that of the parent if it is empty.
	Namespace string `json:"namespace,omitempty"`
	// Certificate and PrivateKey are keys of its data: tls.crt and tls.key if they are empty.
	Certificate string `json:"certificate,omitempty"`
	PrivateKey  string `json:"privateKey,omitempty"`
}

// SignedBy returns an issuer whose certificate is under this key of the same Secret.
func SignedBy(key string) *Issuer { return &Issuer{Key: key} }

// SignedBySecret returns the CA in the keys tls.crt and tls.key of another Secret, in the parent's
// namespace. The manifest must declare to read Secrets.
func SignedBySecret(name string) *Issuer { return &Issuer{Secret: &IssuerSecret{Name: name}} }

// Text is a text with other values of the Secret: {key} is the value of a key, and {{ and }} are braces.
type Text string

// Hash is the hash of another value of the Secret.
type Hash struct {
	// Of is the key of the other value.
	Of string `json:"of"`
	// Algorithm is bcrypt, scram-sha256 as PostgreSQL stores passwords, or sha256.
	Algorithm string `json:"algorithm"`
}

func (RandomBytes) generator() string { return "bytes" }
func (Password) generator() string    { return "password" }
func (KeyPair) generator() string     { return "keyPair" }
func (Certificate) generator() string { return "certificate" }
func (Text) generator() string        { return "text" }
func (Hash) generator() string        { return "hash" }

package gyretest

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"gyre.dev/gyre"
)

// requirement is a part of a label selector.
type requirement struct {
	key string
	// values are those that fit; nil is any.
	values []string
	// isNegated says that other objects fit, also those without the label.
	isNegated bool
}

// The forms of a requirement in kubectl get -l: key in (a, b), key notin (a, b), key=a, key==a, key!=a,
// key and !key.
var (
	setForm   = regexp.MustCompile(`^([^\s!=(),]+)\s+(in|notin)\s*\(([^()]*)\)$`)
	equalForm = regexp.MustCompile(`^([^\s!=(),]+)\s*(=|==|!=)\s*([^\s!=(),]*)$`)
	keyForm   = regexp.MustCompile(`^(!?)\s*([^\s!=(),]+)$`)
)

func parseSelector(selector string) ([]requirement, error) {
	var requirements []requirement
	for _, term := range splitTerms(selector) {
		term = strings.TrimSpace(term)
		if set := setForm.FindStringSubmatch(term); set != nil {
			values := strings.Split(set[3], ",")
			for index, value := range values {
				values[index] = strings.TrimSpace(value)
			}
			requirements = append(requirements, requirement{set[1], values, set[2] == "notin"})
		} else if equal := equalForm.FindStringSubmatch(term); equal != nil {
			requirements = append(requirements, requirement{equal[1], []string{equal[3]}, equal[2] == "!="})
		} else if key := keyForm.FindStringSubmatch(term); key != nil {
			requirements = append(requirements, requirement{key[2], nil, key[1] == "!"})
		} else if term != "" || selector != "" {
			return nil, fmt.Errorf("%w: %q", gyre.ErrInvalidSelector, term)
		}
	}
	return requirements, nil
}

// splitTerms splits at commas that are not in parentheses.
func splitTerms(selector string) []string {
	var terms []string
	depth, begin := 0, 0
	for index, letter := range selector {
		switch {
		case letter == '(':
			depth++
		case letter == ')':
			depth--
		case letter == ',' && depth == 0:
			terms = append(terms, selector[begin:index])
			begin = index + 1
		}
	}
	return append(terms, selector[begin:])
}

func fits(requirements []requirement, labels map[string]string) bool {
	for _, r := range requirements {
		value, has := labels[r.key]
		isOneOf := has && (r.values == nil || slices.Contains(r.values, value))
		if isOneOf == r.isNegated {
			return false
		}
	}
	return true
}

// Command promlint reads metrics in Prometheus' text format and says what is wrong with them, by the same parser and the same rules
// as `promtool check metrics`. It exits with 3, as promtool does, when the metrics can be read and could be better.
package main

import (
	"fmt"
	"os"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
)

func main() {
	problems, err := promlint.New(os.Stdin).Lint()
	if err != nil {
		fmt.Fprintln(os.Stderr, "cannot parse the metrics:", err)
		os.Exit(1)
	}
	for _, problem := range problems {
		fmt.Fprintln(os.Stderr, problem.Metric, problem.Text)
	}
	if len(problems) > 0 {
		os.Exit(3)
	}
}

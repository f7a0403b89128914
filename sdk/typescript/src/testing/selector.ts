/** Label selectors in the syntax of `kubectl get -l`. */

type Labels = Readonly<Record<string, string>>;
type Requirement = (labels: Labels) => boolean;

const KEY = "[A-Za-z0-9][-A-Za-z0-9_./]*";
const VALUE = "[A-Za-z0-9]?[-A-Za-z0-9_.]*";
const EQUALITY = new RegExp(`^(${KEY})\\s*(=|==|!=)\\s*(${VALUE})$`);
const SET = new RegExp(`^(${KEY})\\s+(in|notin)\\s+\\(([^()]*)\\)$`);
const EXISTENCE = new RegExp(`^(!?)\\s*(${KEY})$`);

/** Returns whether labels match a selector. Throws an error that says which part does not parse. */
export function selectorMatcher(selector = ""): Requirement {
  const requirements = parts(selector).map(requirement);
  return (labels) => requirements.every((holds) => holds(labels));
}

/** Splits at commas that are not in parentheses. */
function parts(selector: string): string[] {
  return selector
    .split(/,(?![^(]*\))/)
    .map((part) => part.trim())
    .filter((part, _, all) => part !== "" || all.length > 1);
}

function requirement(part: string): Requirement {
  const equality = EQUALITY.exec(part);
  if (equality !== null) {
    const [, key = "", operator, value] = equality;
    return (labels) => (labels[key] === value) === (operator !== "!=");
  }
  const set = SET.exec(part);
  if (set !== null) {
    const [, key = "", operator, values = ""] = set;
    const listed = values.split(",").map((value) => value.trim());
    return (labels) => listed.includes(labels[key] ?? "\0") === (operator === "in");
  }
  const existence = EXISTENCE.exec(part);
  if (existence !== null) {
    const [, not, key = ""] = existence;
    return (labels) => key in labels === (not === "");
  }
  throw new Error(`${JSON.stringify(part)} is no requirement`);
}

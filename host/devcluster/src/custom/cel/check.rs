//! A type checker for expressions, which the library lacks: it finds unknown names, and operators
//! between values of types that do not fit. If a type is not certain here, the evaluation decides.

use kube_cel::cel::common::ast::{CallExpr, ComprehensionExpr, EntryExpr, Expr, IdedExpr, LiteralValue, operators};

use super::super::program::{Program, escape};
use super::super::structural::Node;
use super::value::Root;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expected {
    Bool,
    String,
}

/// Checks `program`, where `self` is a value of `schema`.
///
/// # Errors
///
/// The message of the server without the place in the expression.
pub(crate) fn check(program: &Program, schema: &Node, root: Root, expected: Expected) -> Result<(), String> {
    let this = Type::of(schema, root);
    let mut checker = Checker { scope: vec![("self".to_owned(), this), ("oldSelf".to_owned(), Type::Any)] };
    if !program.uses_old_self {
        checker.scope.truncate(1);
    }
    let found = checker.infer(program.expression()).map_err(|error| format!("compilation failed: {error}"))?;
    match (expected, found) {
        (_, Type::Any) | (Expected::Bool, Type::Bool) | (Expected::String, Type::String) => Ok(()),
        (Expected::Bool, _) => Err("cel expression must evaluate to a bool".to_owned()),
        (Expected::String, _) => Err("messageExpression must evaluate to a string".to_owned()),
    }
}

#[derive(Clone)]
enum Type<'a> {
    Any,
    Bool,
    Int,
    Uint,
    Double,
    String,
    Bytes,
    Timestamp,
    Duration,
    Null,
    List(Box<Type<'a>>),
    Map(Box<Type<'a>>),
    Object(&'a Node, Root),
}

impl<'a> Type<'a> {
    fn of(schema: &'a Node, root: Root) -> Self {
        let below = |node: &'a Node| Self::of(node, Root::below(node));
        let nullable = schema.nullable || schema.int_or_string;
        match schema.kind.as_str() {
            _ if nullable => Self::Any,
            "boolean" => Self::Bool,
            "integer" => Self::Int,
            "number" => Self::Double,
            "string" => match schema.format.as_deref() {
                Some("byte") => Self::Bytes,
                Some("duration") => Self::Duration,
                Some("date" | "date-time" | "datetime") => Self::Timestamp,
                _ => Self::String,
            },
            "array" => Self::List(Box::new(schema.items.as_deref().map_or(Self::Any, below))),
            "object" => match schema.each() {
                Some(each) => Self::Map(Box::new(below(each))),
                None if schema.properties.is_empty() && root == Root::Field => Self::Any,
                None => Self::Object(schema, root),
            },
            _ => Self::Any,
        }
    }

    /// Returns the server's name of the type; `None` if it has no fixed name.
    fn name(&self) -> Option<String> {
        Some(match self {
            Self::Any | Self::Object(..) => return None,
            Self::Bool => "bool".to_owned(),
            Self::Int => "int".to_owned(),
            Self::Uint => "uint".to_owned(),
            Self::Double => "double".to_owned(),
            Self::String => "string".to_owned(),
            Self::Bytes => "bytes".to_owned(),
            Self::Timestamp => "timestamp".to_owned(),
            Self::Duration => "duration".to_owned(),
            Self::Null => "null".to_owned(),
            Self::List(items) => format!("list({})", items.name()?),
            Self::Map(values) => format!("map(string, {})", values.name()?),
        })
    }

    fn is_number(&self) -> bool {
        matches!(self, Self::Int | Self::Uint | Self::Double)
    }
}

/// The namespaces of functions, and types.
const SPACES: [&str; 21] = [
    "math",
    "sets",
    "lists",
    "strings",
    "base64",
    "optional",
    "format",
    "jsonpatch",
    "cel",
    "ip",
    "cidr",
    "int",
    "uint",
    "double",
    "bool",
    "string",
    "bytes",
    "list",
    "map",
    "type",
    "null_type",
];

struct Checker<'a> {
    scope: Vec<(String, Type<'a>)>,
}

type Checked<'a> = Result<Type<'a>, String>;

impl<'a> Checker<'a> {
    fn infer(&mut self, node: &IdedExpr) -> Checked<'a> {
        match &node.expr {
            Expr::Ident(name) => self.name(name),
            Expr::Literal(literal) => Ok(match literal {
                LiteralValue::Boolean(_) => Type::Bool,
                LiteralValue::Bytes(_) => Type::Bytes,
                LiteralValue::Double(_) => Type::Double,
                LiteralValue::Int(_) => Type::Int,
                LiteralValue::Null => Type::Null,
                LiteralValue::String(_) => Type::String,
                LiteralValue::UInt(_) => Type::Uint,
            }),
            Expr::Select(select) => {
                let operand = self.infer(&select.operand)?;
                let field = field_of(&operand, &select.field)?;
                Ok(if select.test { Type::Bool } else { field })
            }
            Expr::List(list) => {
                let types = list.elements.iter().map(|element| self.infer(element)).collect::<Result<Vec<_>, _>>()?;
                let same = types.iter().filter_map(Type::name).collect::<std::collections::BTreeSet<_>>().len() == 1;
                Ok(Type::List(Box::new(types.into_iter().next().filter(|_| same).unwrap_or(Type::Any))))
            }
            Expr::Map(map) => {
                for entry in &map.entries {
                    if let EntryExpr::MapEntry(entry) = &entry.expr {
                        self.infer(&entry.key)?;
                        self.infer(&entry.value)?;
                    }
                }
                Ok(Type::Any)
            }
            Expr::Comprehension(comprehension) => self.comprehension(comprehension),
            Expr::Call(call) => self.call(call),
            Expr::Struct(_) | Expr::Unspecified => Ok(Type::Any),
        }
    }

    fn name(&self, name: &str) -> Checked<'a> {
        let known = self.scope.iter().rev().find(|(known, _)| known == name).map(|(_, kind)| kind.clone());
        match known {
            Some(known) => Ok(known),
            None if SPACES.contains(&name) || name.starts_with(['@', '#']) => Ok(Type::Any),
            None => Err(format!("undeclared reference to '{name}' (in container '')")),
        }
    }

    fn comprehension(&mut self, comprehension: &ComprehensionExpr) -> Checked<'a> {
        let item = match self.infer(&comprehension.iter_range)? {
            Type::List(item) => *item,
            Type::Map(_) => Type::String,
            _ => Type::Any,
        };
        let accumulated = match self.infer(&comprehension.accu_init)? {
            Type::List(_) => Type::List(Box::new(Type::Any)),
            other => other,
        };
        let depth = self.scope.len();
        self.scope.push((comprehension.accu_var.clone(), accumulated));
        self.scope.push((comprehension.iter_var.clone(), item));
        let step = self.infer(&comprehension.loop_step);
        let result = step.and_then(|_| self.infer(&comprehension.result));
        self.scope.truncate(depth);
        result
    }

    fn call(&mut self, call: &CallExpr) -> Checked<'a> {
        let target = call.target.as_deref().map(|target| self.infer(target)).transpose()?;
        let args = call.args.iter().map(|arg| self.infer(arg)).collect::<Result<Vec<_>, _>>()?;
        if let ("matches", Some(Expr::Literal(LiteralValue::String(pattern)))) =
            (call.func_name.as_str(), call.args.last().map(|arg| &arg.expr))
            && regex::Regex::new(pattern.inner()).is_err()
        {
            return Err("invalid matches argument".to_owned());
        }
        match (call.func_name.as_str(), args.as_slice()) {
            (operators::LOGICAL_AND | operators::LOGICAL_OR, args) => {
                match args.iter().filter_map(Type::name).find(|name| name != "bool") {
                    Some(name) => Err(format!("expected type 'bool' but found '{name}'")),
                    None => Ok(Type::Bool),
                }
            }
            (operators::CONDITIONAL, [condition, then, _]) => match condition {
                Type::Any | Type::Bool => Ok(then.clone()),
                _ => no_overload(operators::CONDITIONAL, &args),
            },
            (name, [left, right]) if binary(name).is_some() => {
                let symbol = binary(name).unwrap_or_default();
                if admits(symbol, left, right) { Ok(result(symbol, left, right)) } else { no_overload(name, &args) }
            }
            (operators::LOGICAL_NOT, [Type::Any | Type::Bool]) => Ok(Type::Bool),
            (operators::LOGICAL_NOT, [_]) => no_overload(operators::LOGICAL_NOT, &args),
            (operators::NEGATE, [number]) => Ok(number.clone()),
            (operators::INDEX, [Type::List(item), _]) => Ok((**item).clone()),
            (operators::INDEX, [Type::Map(value), _]) => Ok((**value).clone()),
            (operators::INDEX, _) => Ok(Type::Any),
            (operators::IN, _) => Ok(Type::Bool),
            ("size", _) => match target.as_ref().or(args.first()) {
                Some(Type::Int | Type::Double | Type::Bool) if args.len() + usize::from(target.is_some()) == 1 => {
                    let shown = target.iter().chain(&args).filter_map(Type::name).collect::<Vec<_>>().join(", ");
                    Err(format!("found no matching overload for 'size' applied to '({shown})'"))
                }
                _ => Ok(Type::Int),
            },
            ("startsWith" | "endsWith" | "contains" | "matches", [arg]) => match (target, arg) {
                (None | Some(Type::Any | Type::String), Type::Any | Type::String) => Ok(Type::Bool),
                (Some(target), arg) => {
                    let name = &call.func_name;
                    let (target, arg) = (target.name().unwrap_or_default(), arg.name().unwrap_or_default());
                    Err(format!("found no matching overload for '{name}' applied to '{target}.({arg})'"))
                }
                _ => Ok(Type::Bool),
            },
            ("string", _) if target.is_none() => Ok(Type::String),
            ("int", _) => Ok(Type::Int),
            ("double", _) => Ok(Type::Double),
            ("timestamp", _) => Ok(Type::Timestamp),
            ("duration", _) => Ok(Type::Duration),
            ("lowerAscii" | "upperAscii" | "trim" | "replace" | "substring" | "join" | "format" | "charAt", _) => {
                Ok(if target.is_some() { Type::String } else { Type::Any })
            }
            (name, _) if name.starts_with(['@', '_', '!', '-']) || FUNCTIONS.contains(&name) => Ok(Type::Any),
            (name, _) => Err(format!("undeclared reference to '{name}' (in container '')")),
        }
    }
}

fn field_of<'a>(operand: &Type<'a>, field: &str) -> Checked<'a> {
    match operand {
        Type::Object(schema, root) => {
            let resource = *root == Root::Resource || schema.embedded_resource;
            if resource && matches!(field, "apiVersion" | "kind") {
                return Ok(Type::String);
            }
            if resource && field == "metadata" || schema.preserve_unknown_fields && schema.properties.is_empty() {
                return Ok(Type::Any);
            }
            let property = schema.properties.iter().find(|(name, _)| escape(name).as_deref() == Some(field));
            let found = property.map(|(_, property)| Type::of(property, Root::below(property)));
            found.ok_or_else(|| format!("undefined field '{field}'"))
        }
        Type::Map(values) => Ok((**values).clone()),
        Type::Any => Ok(Type::Any),
        other => {
            let name = other.name().unwrap_or_default();
            Err(format!("type '{name}' does not support field selection"))
        }
    }
}

fn no_overload<'a>(function: &str, args: &[Type<'a>]) -> Checked<'a> {
    match args.iter().map(Type::name).collect::<Option<Vec<_>>>() {
        Some(names) => Err(format!("found no matching overload for '{function}' applied to '({})'", names.join(", "))),
        None => Ok(Type::Any),
    }
}

/// Functions whose result types are not modelled.
const FUNCTIONS: [&str; 129] = [
    "abs",
    "add",
    "annotations",
    "asApproximateFloat",
    "asInteger",
    "bind",
    "bitAnd",
    "bitNot",
    "bitOr",
    "bitShiftLeft",
    "bitShiftRight",
    "bitXor",
    "bool",
    "byte",
    "bytes",
    "ceil",
    "cidr",
    "compareTo",
    "contains",
    "containsCIDR",
    "containsIP",
    "date",
    "datetime",
    "decode",
    "distinct",
    "dns1035Label",
    "dns1035LabelPrefix",
    "dns1123Label",
    "dns1123LabelPrefix",
    "dns1123Subdomain",
    "dns1123SubdomainPrefix",
    "dyn",
    "encode",
    "equivalent",
    "escapeKey",
    "exists",
    "family",
    "find",
    "findAll",
    "first",
    "flatten",
    "floor",
    "getDate",
    "getDayOfMonth",
    "getDayOfWeek",
    "getDayOfYear",
    "getEscapedPath",
    "getFullYear",
    "getHost",
    "getHostname",
    "getHours",
    "getMilliseconds",
    "getMinutes",
    "getMonth",
    "getPort",
    "getQuery",
    "getScheme",
    "getSeconds",
    "greatest",
    "hasValue",
    "indexOf",
    "intersects",
    "ip",
    "isCIDR",
    "isCIDRv4",
    "isCIDRv6",
    "isCanonical",
    "isFinite",
    "isGlobalUnicast",
    "isGreaterThan",
    "isIP",
    "isIPv4",
    "isIPv6",
    "isInf",
    "isInteger",
    "isLessThan",
    "isLinkLocalMulticast",
    "isLinkLocalUnicast",
    "isLoopback",
    "isNaN",
    "isQuantity",
    "isSemver",
    "isSorted",
    "isURL",
    "isUnspecified",
    "labelValue",
    "labels",
    "last",
    "lastIndexOf",
    "least",
    "major",
    "masked",
    "max",
    "min",
    "minor",
    "named",
    "none",
    "of",
    "ofNonZeroValue",
    "optFlatMap",
    "optMap",
    "or",
    "orValue",
    "patch",
    "prefixLength",
    "qualifiedName",
    "quantity",
    "quote",
    "range",
    "reverse",
    "round",
    "semver",
    "sign",
    "slice",
    "sort",
    "sortBy",
    "split",
    "sqrt",
    "string",
    "sub",
    "sum",
    "trunc",
    "type",
    "uint",
    "uri",
    "url",
    "uuid",
    "validate",
    "value",
];

fn binary(function: &str) -> Option<&'static str> {
    Some(match function {
        operators::EQUALS => "==",
        operators::NOT_EQUALS => "!=",
        operators::LESS => "<",
        operators::LESS_EQUALS => "<=",
        operators::GREATER => ">",
        operators::GREATER_EQUALS => ">=",
        operators::ADD => "+",
        operators::SUBSTRACT => "-",
        operators::MULTIPLY => "*",
        operators::DIVIDE => "/",
        operators::MODULO => "%",
        _ => return None,
    })
}

fn admits(symbol: &str, left: &Type<'_>, right: &Type<'_>) -> bool {
    let (Some(left_name), Some(right_name)) = (left.name(), right.name()) else { return true };
    let same = left_name == right_name;
    let numbers = left.is_number() && right.is_number();
    let times = |kind: &Type<'_>| matches!(kind, Type::Timestamp | Type::Duration);
    match symbol {
        "==" | "!=" => {
            same || matches!(
                (left, right),
                (Type::List(_), Type::List(_)) | (Type::Map(_), Type::Map(_)) | (Type::Null, _) | (_, Type::Null)
            )
        }
        "<" | "<=" | ">" | ">=" => numbers || same && !matches!(left, Type::List(_) | Type::Map(_) | Type::Null),
        "+" => {
            let scalar = !matches!(left, Type::Bool | Type::Null | Type::Map(_) | Type::Timestamp);
            same && scalar || times(left) && times(right) || matches!((left, right), (Type::List(_), Type::List(_)))
        }
        "-" => same && (left.is_number() || times(left)) || times(left) && times(right),
        "%" => same && !matches!(left, Type::Double) && left.is_number(),
        _ => same && left.is_number(),
    }
}

fn result<'a>(symbol: &str, left: &Type<'a>, right: &Type<'a>) -> Type<'a> {
    match symbol {
        "==" | "!=" | "<" | "<=" | ">" | ">=" => Type::Bool,
        _ if left.name() == right.name() && (left.is_number() || matches!(left, Type::String)) => left.clone(),
        _ => Type::Any,
    }
}

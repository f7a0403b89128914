//! Parses expressions, and evaluates them within limits.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use kube_cel::KubeCelExt as _;
use kube_cel::cel::common::ast::{CallExpr, ComprehensionExpr, EntryExpr, Expr, IdedExpr, ListExpr, LiteralValue, operators};
use kube_cel::cel::parser::Parser;
use kube_cel::cel::{Context, ExecutionError, Value};

/// The API server's cost limit for one expression.
const CALL_LIMIT: i64 = 1_000_000;

/// The API server's limit for the length of an expression, in characters.
const MAX_LENGTH: usize = 100_000;

/// The maximum depth of an expression, because the evaluation recurses. Real rules have about ten
/// levels.
const MAX_NESTING: usize = 150;

/// The maximum depth of brackets, because the parser's time grows exponentially with it. Real rules
/// have about ten levels.
const MAX_BRACKETS: usize = 24;

const TOO_DEEP: &str = "ERROR: <input>:-1:0: expression recursion limit exceeded: 250";

/// Longer expressions might overflow an ordinary stack, so they are parsed on a large one.
const SHORT: usize = 120;
const PARSER_STACK: usize = 256 << 20;

/// The number of copied bytes that cost one step more, because each step of a loop copies its item.
const BYTES_PER_STEP: usize = 4096;

const TICK: &str = "@tick";
const EXHAUSTED: &str = "operation cancelled: actual cost limit exceeded";

#[derive(Debug)]
pub(crate) struct Program {
    expression: IdedExpr,
    pub(crate) uses_old_self: bool,
}

/// A parsed rule and its `messageExpression`.
#[derive(Debug)]
pub(crate) struct Compiled {
    pub(crate) rule: Result<Program, String>,
    pub(crate) message: Option<Result<Program, String>>,
}

impl Compiled {
    /// Compiles a rule and its `messageExpression`, which may be empty.
    pub(crate) fn new(rule: &str, message_expression: &str) -> Self {
        let message = Some(message_expression).filter(|text| !text.is_empty());
        Self { rule: Program::parse(rule), message: message.map(Program::parse) }
    }
}

#[derive(Debug)]
pub(crate) enum Failure {
    Exhausted(&'static str),
    /// The server's message, e.g. `no such key: a`.
    Error(String),
}

/// The functions that expressions may call, and the remaining cost.
pub(crate) struct Library {
    context: Context<'static>,
    left: Arc<AtomicI64>,
    step: i64,
}

impl Library {
    /// Creates a library for variables of `size` bytes in total.
    pub(crate) fn new(size: usize) -> Self {
        let left = Arc::new(AtomicI64::new(0));
        let mut context = Context::default().with_all();
        let (counter, step) = (Arc::clone(&left), 1 + i64::try_from(size / BYTES_PER_STEP).unwrap_or(i64::MAX));
        context.add_function(TICK, move || {
            let before = counter.fetch_sub(step, Ordering::Relaxed);
            if before < step { Err(ExecutionError::function_error(TICK, EXHAUSTED)) } else { Ok(true) }
        });
        Self { context, left, step }
    }

    pub(crate) fn evaluate(&self, program: &Program, variables: &[(&str, Value)]) -> (Result<Value, Failure>, i64) {
        self.left.store(CALL_LIMIT, Ordering::Relaxed);
        let mut scope = self.context.new_inner_scope();
        for (name, value) in variables {
            scope.add_variable_from_value(*name, value.clone());
        }
        // Expressions can violate some assertions of the library. The scope is dropped then.
        let result = catch_unwind(AssertUnwindSafe(|| Value::resolve(&program.expression, &scope)));
        let cost = CALL_LIMIT.saturating_sub(self.left.load(Ordering::Relaxed)).saturating_add(self.step);
        let result = match result {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(error)) => Err(failure(&error)),
            Err(_) => Err(Failure::Error("internal error".to_owned())),
        };
        (result, cost)
    }
}

fn failure(error: &ExecutionError) -> Failure {
    let text = match error {
        ExecutionError::FunctionError { message, .. } if message == EXHAUSTED => return Failure::Exhausted(EXHAUSTED),
        ExecutionError::NoSuchKey(key) => format!("no such key: {key}"),
        ExecutionError::IndexOutOfBounds(Value::Int(index)) => format!("index out of bounds: {index}"),
        ExecutionError::IndexOutOfBounds(index) => format!("index out of bounds: {index:?}"),
        ExecutionError::DivisionByZero(_) => "division by zero".to_owned(),
        ExecutionError::RemainderByZero(_) => "modulus by zero".to_owned(),
        ExecutionError::Overflow(..) => "integer overflow".to_owned(),
        ExecutionError::NoSuchOverload
        | ExecutionError::ValuesNotComparable(..)
        | ExecutionError::UnsupportedBinaryOperator(..)
        | ExecutionError::UnsupportedUnaryOperator(..)
        | ExecutionError::UnexpectedType { .. }
        | ExecutionError::UnsupportedTargetType { .. } => "no such overload".to_owned(),
        ExecutionError::UndeclaredReference(name) => format!("no such attribute(s): {name}"),
        ExecutionError::FunctionError { message, .. } => message.clone(),
        other => other.to_string(),
    };
    Failure::Error(text)
}

impl Program {
    /// Parses an expression. The error is the server's message after `compilation failed: `.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        if text.chars().count() > MAX_LENGTH {
            return Err(format!(
                "ERROR: <input>:-1:0: expression code point size exceeds limit: size: {}, limit {MAX_LENGTH}",
                text.chars().count()
            ));
        }
        if brackets(text) > MAX_BRACKETS {
            return Err(TOO_DEEP.to_owned());
        }
        if text.len() <= SHORT {
            return parse(text);
        }
        let owned = text.to_owned();
        let thread = std::thread::Builder::new().stack_size(PARSER_STACK).spawn(move || parse(&owned));
        let parsed = thread.map_err(|error| error.to_string())?.join();
        parsed.unwrap_or_else(|_| Err(format!("ERROR: <input>:1:1: Syntax error in {text:?}")))
    }

    pub(crate) fn expression(&self) -> &IdedExpr {
        &self.expression
    }
}

fn brackets(text: &str) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    for character in text.chars() {
        match character {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    deepest
}

fn parse(text: &str) -> Result<Program, String> {
    let parsed = catch_unwind(|| {
        Parser::new().enable_optional_syntax(true).parse(text).map_err(|errors| errors.to_string().replace("\n| ", "\n | "))
    });
    let mut expression = parsed.unwrap_or_else(|_| Err(format!("ERROR: <input>:1:1: Syntax error in {text:?}")))?;
    let mut rewriting = Rewriting { uses_old_self: false, unsupported: None };
    rewriting.walk(&mut expression, 0);
    match rewriting.unsupported {
        None => Ok(Program { expression, uses_old_self: rewriting.uses_old_self }),
        Some(unsupported) => Err(unsupported),
    }
}

/// Makes each step of a loop count its cost, and expands macros that the library lacks.
struct Rewriting {
    uses_old_self: bool,
    unsupported: Option<String>,
}

impl Rewriting {
    fn walk(&mut self, node: &mut IdedExpr, depth: usize) {
        if depth > MAX_NESTING {
            self.unsupported = Some(TOO_DEEP.to_owned());
            return;
        }
        if let Some(bound) = expand_bind(node) {
            *node = bound;
        }
        match &mut node.expr {
            Expr::Call(call) => {
                call.target.iter_mut().for_each(|target| self.walk(target, depth + 1));
                call.args.iter_mut().for_each(|arg| self.walk(arg, depth + 1));
            }
            Expr::Comprehension(comprehension) => {
                let ComprehensionExpr { iter_range, accu_init, loop_cond, loop_step, result, .. } = &mut **comprehension;
                for part in [iter_range, accu_init, &mut *loop_cond, loop_step, result] {
                    self.walk(part, depth + 1);
                }
                let condition = std::mem::take(loop_cond);
                *loop_cond = call(operators::LOGICAL_AND, vec![call(TICK, Vec::new()), condition]);
            }
            Expr::Ident(name) => self.uses_old_self |= name == "oldSelf",
            Expr::List(list) => list.elements.iter_mut().for_each(|element| self.walk(element, depth + 1)),
            Expr::Map(map) => {
                for entry in &mut map.entries {
                    if let EntryExpr::MapEntry(entry) = &mut entry.expr {
                        self.walk(&mut entry.key, depth + 1);
                        self.walk(&mut entry.value, depth + 1);
                    }
                }
            }
            Expr::Select(select) => self.walk(&mut select.operand, depth + 1),
            Expr::Struct(literal) => {
                self.unsupported =
                    Some(format!("ERROR: <input>:1:1: undeclared reference to '{}' (in container '')", literal.type_name));
            }
            Expr::Unspecified => self.unsupported = Some("ERROR: <input>:1:1: Syntax error".to_owned()),
            Expr::Literal(_) => {}
        }
    }
}

fn call(function: &str, args: Vec<IdedExpr>) -> IdedExpr {
    IdedExpr { id: 0, expr: Expr::Call(CallExpr { func_name: function.to_owned(), target: None, args }) }
}

/// Expands `cel.bind(name, value, expression)` into a loop over nothing.
fn expand_bind(node: &mut IdedExpr) -> Option<IdedExpr> {
    let Expr::Call(call) = &mut node.expr else { return None };
    let Expr::Ident(space) = &call.target.as_ref()?.expr else { return None };
    if space != "cel" || call.func_name != "bind" {
        return None;
    }
    let [IdedExpr { expr: Expr::Ident(name), .. }, value, expression] = call.args.as_mut_slice() else { return None };
    let plain = |expr: Expr| IdedExpr { id: 0, expr };
    Some(plain(Expr::Comprehension(Box::new(ComprehensionExpr {
        iter_range: plain(Expr::List(ListExpr::new(Vec::new()))),
        iter_var: "#unused".to_owned(),
        iter_var2: None,
        accu_var: name.clone(),
        accu_init: std::mem::take(value),
        loop_cond: plain(Expr::Literal(LiteralValue::Boolean(false.into()))),
        loop_step: plain(Expr::Ident(name.clone())),
        result: std::mem::take(expression),
    }))))
}

const RESERVED: [&str; 21] = [
    "true",
    "false",
    "null",
    "in",
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

/// Escapes the name of a field for expressions, or returns `None` if they cannot refer to it.
pub(crate) fn escape(name: &str) -> Option<String> {
    if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    if RESERVED.contains(&name) {
        return Some(format!("__{name}__"));
    }
    if !name.chars().all(|c| c.is_ascii_alphanumeric() || "_-./".contains(c)) {
        return None;
    }
    let escaped = name.replace("__", "__underscores__");
    Some(escaped.replace('.', "__dot__").replace('-', "__dash__").replace('/', "__slash__"))
}

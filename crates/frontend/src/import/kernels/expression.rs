//! The integer expressions of specifications: parsed, never replaced as text.
//!
//! Numbers, symbols, `+ - * / // %`, signs, parentheses, and `partition_round(elements, percent)`.
//! Both divisions round down and a remainder has the divisor's sign, as in the Python 2 that PySchedCL was written for.
//! Every step is checked: what leaves 128 bits is told, not wrapped.

use std::fmt;

use super::limits;

/// A parsed expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Expression {
    Number(i128),
    Symbol(String),
    Negated(Box<Self>),
    Binary(Operator, Box<Self>, Box<Self>),
    /// `partition_round`: so many percent of the elements.
    Share(Box<Self>, Box<Self>),
}

/// An operation of two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

/// Why a text is no expression.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SyntaxError {
    /// Something else stands where the grammar asks for one of a kind.
    #[error("column {column}: {found} stands where {expected} should")]
    Unexpected {
        /// From one.
        column: usize,
        /// What stands there.
        found: String,
        /// What should.
        expected: &'static str,
    },
    /// A number of more than 38 digits.
    #[error("column {column}: the number does not fit 127 bits")]
    Number {
        /// From one.
        column: usize,
    },
    /// A function that is not known.
    #[error(
        "column {column}: `{name}` is no function; partition_round(elements, percent) is the only one"
    )]
    Function {
        /// From one.
        column: usize,
        /// Its name.
        name: String,
    },
    /// Too many parentheses or signs.
    #[error(
        "column {column}: more than {} parentheses and signs lie within each other",
        limits::DEPTH
    )]
    Depth {
        /// From one.
        column: usize,
    },
    /// Too long.
    #[error("is {found} bytes long; expressions have at most {}", limits::TEXT)]
    Length {
        /// Its length.
        found: usize,
    },
}

/// Why an expression has no value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EvaluationError {
    /// A symbol without a value.
    #[error("`{0}` has no value")]
    Symbol(String),
    /// A step leaves 128 bits.
    #[error("`{0}` overflows")]
    Overflow(String),
    /// A division or remainder by zero.
    #[error("`{0}` divides by zero")]
    ByZero(String),
}

impl Expression {
    /// Parses one expression.
    pub(super) fn parse(text: &str) -> Result<Self, SyntaxError> {
        let mut parser = Parser::new(text)?;
        let expression = parser.sum()?;
        parser.end()?;
        Ok(expression)
    }

    /// Parses `[a, b, …]`, or one expression as a list of one; gives the text of each element.
    pub(super) fn elements(text: &str) -> Result<Vec<String>, SyntaxError> {
        const CLOSING: u8 = b']';
        let mut parser = Parser::new(text)?;
        if parser.peek() != Some(b'[') {
            parser.sum()?;
            parser.end()?;
            return Ok(vec![text.trim().to_owned()]);
        }
        parser.at += 1;
        let mut elements = Vec::new();
        while parser.peek() != Some(CLOSING) {
            let start = parser.at;
            parser.sum()?;
            elements.push(text[start..parser.at].trim().to_owned());
            match parser.peek() {
                Some(b',') => parser.at += 1,
                Some(CLOSING) => {}
                _ => return Err(parser.unexpected("`,` or `]`")),
            }
        }
        parser.at += 1;
        parser.end()?;
        Ok(elements)
    }

    /// The value, where `symbol` knows those of symbols.
    pub(super) fn evaluate(
        &self,
        symbol: &dyn Fn(&str) -> Option<i128>,
    ) -> Result<i128, EvaluationError> {
        let overflow = || EvaluationError::Overflow(self.to_string());
        match self {
            Self::Number(value) => Ok(*value),
            Self::Symbol(name) => symbol(name).ok_or_else(|| EvaluationError::Symbol(name.clone())),
            Self::Negated(operand) => operand.evaluate(symbol)?.checked_neg().ok_or_else(overflow),
            Self::Binary(operator, left, right) => {
                let (left, right) = (left.evaluate(symbol)?, right.evaluate(symbol)?);
                if right == 0 && matches!(operator, Operator::Divide | Operator::Remainder) {
                    return Err(EvaluationError::ByZero(self.to_string()));
                }
                operator.apply(left, right).ok_or_else(overflow)
            }
            Self::Share(elements, percent) => {
                let (elements, percent) = (elements.evaluate(symbol)?, percent.evaluate(symbol)?);
                let scaled = elements.checked_mul(percent).ok_or_else(overflow)?;
                Operator::Divide.apply(scaled, 100).ok_or_else(overflow)
            }
        }
    }
}

impl Operator {
    fn apply(self, left: i128, right: i128) -> Option<i128> {
        match self {
            Self::Add => left.checked_add(right),
            Self::Subtract => left.checked_sub(right),
            Self::Multiply => left.checked_mul(right),
            Self::Divide => {
                let quotient = left.checked_div(right)?;
                let down = left % right != 0 && (left < 0) != (right < 0);
                Some(quotient - i128::from(down))
            }
            Self::Remainder => {
                let remainder = left.checked_rem(right)?;
                let turned = remainder != 0 && (remainder < 0) != (right < 0);
                Some(if turned { remainder + right } else { remainder })
            }
        }
    }

    const fn sign(self) -> &'static str {
        match self {
            Self::Add => "+",
            Self::Subtract => "-",
            Self::Multiply => "*",
            Self::Divide => "/",
            Self::Remainder => "%",
        }
    }
}

/// Fully parenthesised but for the outermost operation; parses back to the same expression.
impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let operand = |operand: &Self| match operand {
            Self::Negated(_) | Self::Binary(..) => format!("({operand})"),
            Self::Number(_) | Self::Symbol(_) | Self::Share(..) => operand.to_string(),
        };
        match self {
            Self::Number(value) => write!(f, "{value}"),
            Self::Symbol(name) => f.write_str(name),
            Self::Negated(inner) => write!(f, "-{}", operand(inner)),
            Self::Binary(operator, left, right) => {
                write!(
                    f,
                    "{} {} {}",
                    operand(left),
                    operator.sign(),
                    operand(right)
                )
            }
            Self::Share(elements, percent) => write!(f, "partition_round({elements}, {percent})"),
        }
    }
}

/// Recursive descent over bytes; what is not ASCII stands in no rule.
struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

impl<'a> Parser<'a> {
    fn new(text: &'a str) -> Result<Self, SyntaxError> {
        if text.len() > limits::TEXT {
            return Err(SyntaxError::Length { found: text.len() });
        }
        Ok(Self {
            text,
            at: 0,
            depth: 0,
        })
    }

    /// The next byte that is no white space.
    fn peek(&mut self) -> Option<u8> {
        let rest = &self.text.as_bytes()[self.at..];
        self.at += rest
            .iter()
            .take_while(|byte| byte.is_ascii_whitespace())
            .count();
        self.text.as_bytes().get(self.at).copied()
    }

    fn end(&mut self) -> Result<(), SyntaxError> {
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(self.unexpected("an operator or the end")),
        }
    }

    fn column(&self) -> usize {
        self.text[..self.at].chars().count() + 1
    }

    fn unexpected(&mut self, expected: &'static str) -> SyntaxError {
        let _next = self.peek();
        let found = match self.text[self.at..].chars().next() {
            Some(c) => format!("`{}`", c.escape_debug()),
            None => "the end".to_owned(),
        };
        SyntaxError::Unexpected {
            column: self.column(),
            found,
            expected,
        }
    }

    fn sum(&mut self) -> Result<Expression, SyntaxError> {
        let mut left = self.product()?;
        loop {
            let operator = match self.peek() {
                Some(b'+') => Operator::Add,
                Some(b'-') => Operator::Subtract,
                _ => return Ok(left),
            };
            self.at += 1;
            left = Expression::Binary(operator, Box::new(left), Box::new(self.product()?));
        }
    }

    fn product(&mut self) -> Result<Expression, SyntaxError> {
        let mut left = self.signed()?;
        loop {
            let operator = match self.peek() {
                Some(b'*') => Operator::Multiply,
                Some(b'/') => Operator::Divide,
                Some(b'%') => Operator::Remainder,
                _ => return Ok(left),
            };
            self.at += 1;
            if operator == Operator::Divide && self.text.as_bytes().get(self.at) == Some(&b'/') {
                self.at += 1;
            }
            left = Expression::Binary(operator, Box::new(left), Box::new(self.signed()?));
        }
    }

    /// Everything that lies within something else passes here, so here is where depth is counted.
    fn signed(&mut self) -> Result<Expression, SyntaxError> {
        self.depth += 1;
        if self.depth > limits::DEPTH {
            return Err(SyntaxError::Depth {
                column: self.column(),
            });
        }
        let expression = match self.peek() {
            Some(b'-') => {
                self.at += 1;
                Expression::Negated(Box::new(self.signed()?))
            }
            Some(b'+') => {
                self.at += 1;
                self.signed()?
            }
            _ => self.atom()?,
        };
        self.depth -= 1;
        Ok(expression)
    }

    fn atom(&mut self) -> Result<Expression, SyntaxError> {
        match self.peek() {
            Some(b'(') => {
                self.at += 1;
                let inner = self.sum()?;
                self.expect(b')', "`)`")?;
                Ok(inner)
            }
            Some(byte) if byte.is_ascii_digit() => self.number(),
            Some(byte) if byte.is_ascii_alphabetic() || byte == b'_' => self.named(),
            _ => Err(self.unexpected("a number, a symbol or `(`")),
        }
    }

    fn expect(&mut self, byte: u8, shown: &'static str) -> Result<(), SyntaxError> {
        if self.peek() != Some(byte) {
            return Err(self.unexpected(shown));
        }
        self.at += 1;
        Ok(())
    }

    fn word(&mut self) -> &'a str {
        let rest = &self.text[self.at..];
        let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
        let length = rest.bytes().take_while(is_part).count();
        self.at += length;
        &rest[..length]
    }

    fn number(&mut self) -> Result<Expression, SyntaxError> {
        let column = self.column();
        let start = self.at;
        let digits = self.word();
        if let Some(wrong) = digits.bytes().position(|byte| !byte.is_ascii_digit()) {
            self.at = start + wrong;
            return Err(self.unexpected("a digit or an operator"));
        }
        let value = digits.parse().map_err(|_| SyntaxError::Number { column })?;
        Ok(Expression::Number(value))
    }

    fn named(&mut self) -> Result<Expression, SyntaxError> {
        let column = self.column();
        let name = self.word();
        if self.peek() != Some(b'(') {
            return Ok(Expression::Symbol(name.to_owned()));
        }
        if name != "partition_round" {
            return Err(SyntaxError::Function {
                column,
                name: name.to_owned(),
            });
        }
        self.at += 1;
        let elements = self.sum()?;
        self.expect(b',', "`,`")?;
        let percent = self.sum()?;
        self.expect(b')', "`)`")?;
        Ok(Expression::Share(Box::new(elements), Box::new(percent)))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn value(text: &str) -> Result<i128, String> {
        let expression = Expression::parse(text).map_err(|error| error.to_string())?;
        let symbol = |name: &str| match name {
            "m1" => Some(256),
            "wpt" => Some(4),
            "size_percent" => Some(100),
            "dataset" => Some(4096),
            _ => None,
        };
        expression
            .evaluate(&symbol)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn values_are_those_of_arithmetic() {
        for (text, expected) in [
            ("64/1", 64),
            (" m1 / wpt ", 64),
            ("32*33", 1056),
            ("2+3*4", 14),
            ("(2+3)*4", 20),
            ("-7/2", -4),
            ("7/-2", -4),
            ("7//2", 3),
            ("-7%3", 2),
            ("7%-3", -2),
            ("--5", 5),
            ("2-3-4", -5),
            ("partition_round(dataset, size_percent)", 4096),
            ("partition_round(m1*4, 50)", 512),
        ] {
            assert_eq!(value(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_is_wrong_is_told_with_its_column() {
        for (text, expected) in [
            (
                "",
                "column 1: the end stands where a number, a symbol or `(` should",
            ),
            (
                "m1*",
                "column 4: the end stands where a number, a symbol or `(` should",
            ),
            (
                "m1 n1",
                "column 4: `n` stands where an operator or the end should",
            ),
            (
                "3m",
                "column 2: `m` stands where a digit or an operator should",
            ),
            (
                "1.5",
                "column 2: `.` stands where an operator or the end should",
            ),
            ("(m1", "column 4: the end stands where `)` should"),
            (
                "é",
                "column 1: `é` stands where a number, a symbol or `(` should",
            ),
            (
                "sqrt(4)",
                "column 1: `sqrt` is no function; partition_round(elements, percent) is the only one",
            ),
            ("n1*2", "`n1` has no value"),
            ("m1/(wpt-4)", "`m1 / (wpt - 4)` divides by zero"),
            ("m1%0", "`m1 % 0` divides by zero"),
            (
                "999999999999999999999999999999999999999",
                "column 1: the number does not fit 127 bits",
            ),
            (
                "99999999999999999999*99999999999999999999",
                "`99999999999999999999 * 99999999999999999999` overflows",
            ),
        ] {
            assert_eq!(value(text), Err(expected.to_owned()), "{text}");
        }
    }

    #[test]
    fn depth_and_length_are_bounded() {
        for text in [
            "(".repeat(900),
            "-".repeat(900),
            format!("{}1{}", "(".repeat(500), ")".repeat(500)),
        ] {
            assert!(
                value(&text).unwrap_err().contains("within each other"),
                "{text}"
            );
        }
        assert!(value(&"1+".repeat(600)).unwrap_err().contains("bytes long"));
        // A chain is as deep as it is long when it is dropped and evaluated.
        assert_eq!(value(&format!("{}1", "1+".repeat(500))), Ok(501));
    }

    #[test]
    fn lists_are_taken_apart_by_the_same_grammar() {
        let elements = |text| Expression::elements(text).map_err(|error| error.to_string());
        let texts = |list: &[&str]| Ok(list.iter().map(|&text| text.to_owned()).collect());
        assert_eq!(elements("[64/1,64]"), texts(&["64/1", "64"]));
        assert_eq!(
            elements("[ partition_round(a, 5) , (b) ]"),
            texts(&["partition_round(a, 5)", "(b)"])
        );
        assert_eq!(elements("[]"), texts(&[]));
        assert_eq!(elements("n1*2"), texts(&["n1*2"]));
        for (text, wrong) in [
            ("[1,2", "column 5"),
            ("[1 2]", "column 4"),
            ("[1],", "column 4"),
            ("[[1]]", "column 2"),
        ] {
            assert!(elements(text).unwrap_err().starts_with(wrong), "{text}");
        }
    }

    fn expression() -> impl Strategy<Value = Expression> {
        let leaf = prop_oneof![
            (0_i128..1000).prop_map(Expression::Number),
            "[a-c]".prop_map(Expression::Symbol),
        ];
        leaf.prop_recursive(4, 32, 2, |inner| {
            let operator = prop_oneof![
                Just(Operator::Add),
                Just(Operator::Subtract),
                Just(Operator::Multiply),
                Just(Operator::Divide),
                Just(Operator::Remainder),
            ];
            prop_oneof![
                inner
                    .clone()
                    .prop_map(|operand| Expression::Negated(Box::new(operand))),
                (operator, inner.clone(), inner.clone()).prop_map(|(operator, left, right)| {
                    Expression::Binary(operator, Box::new(left), Box::new(right))
                }),
                (inner.clone(), inner).prop_map(|(elements, percent)| {
                    Expression::Share(Box::new(elements), Box::new(percent))
                }),
            ]
        })
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back_the_same(expression in expression()) {
            let text = expression.to_string();
            prop_assume!(text.len() <= limits::TEXT);
            prop_assert_eq!(Expression::parse(&text), Ok(expression));
        }

        #[test]
        fn divisions_are_euclids_with_the_divisors_sign(left in -1000_i128..1000, right in -50_i128..50) {
            prop_assume!(right != 0);
            let quotient = value(&format!("({left})/({right})")).unwrap();
            let remainder = value(&format!("({left})%({right})")).unwrap();
            prop_assert_eq!(quotient * right + remainder, left);
            prop_assert!(remainder == 0 || (remainder < 0) == (right < 0));
            prop_assert!(remainder.abs() < right.abs());
        }

        #[test]
        fn no_text_ends_the_process(text in ".{0,40}") {
            let _value = value(&text);
            let _elements = Expression::elements(&text);
        }
    }
}

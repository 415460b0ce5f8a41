//! StableHLO text, built operation by operation.

use std::fmt::{self, Write};

use arraybridge_core::{DType, Error};

use crate::dtype;

/// The type of a value: dtype and shape.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Type {
    pub(super) dtype: DType,
    pub(super) shape: Vec<usize>,
}

impl Type {
    pub(super) fn new(dtype: DType, shape: &[usize]) -> Type {
        Type { dtype, shape: shape.to_vec() }
    }

    fn scalar(dtype: DType) -> Type {
        Type::new(dtype, &[])
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("tensor<")?;
        for length in &self.shape {
            write!(f, "{length}x")?;
        }
        let name = dtype::name(self.dtype, "an operation").map_err(|_| fmt::Error)?;
        write!(f, "{name}>")
    }
}

/// A value of a program.
#[derive(Clone, Debug)]
pub(super) struct Value {
    name: String,
    pub(super) kind: Type,
}

/// A program under construction.
pub(super) struct Builder {
    parameters: Vec<Value>,
    body: String,
    values: usize,
}

impl Builder {
    pub(super) fn new() -> Builder {
        Builder { parameters: Vec::new(), body: String::new(), values: 0 }
    }

    /// Adds a parameter.
    pub(super) fn parameter(&mut self, dtype: DType, shape: &[usize]) -> Result<Value, Error> {
        dtype::name(dtype, "an operation")?;
        let value =
            Value { name: format!("%p{}", self.parameters.len()), kind: Type::new(dtype, shape) };
        self.parameters.push(value.clone());
        Ok(value)
    }

    /// Returns the program's text; its result is `result`.
    pub(super) fn finish(&self, result: &Value) -> String {
        let parameters: Vec<String> =
            self.parameters.iter().map(|value| format!("{}: {}", value.name, value.kind)).collect();
        format!(
            "module @arraybridge {{\nfunc.func public @main({}) -> {} {{\n{}return {} : {}\n}}\n}}\n",
            parameters.join(", "),
            result.kind,
            self.body,
            result.name,
            result.kind,
        )
    }

    /// Adds a line `%v = <operation>` of this type.
    fn line(&mut self, operation: &str, kind: Type) -> Value {
        let name = format!("%v{}", self.values);
        self.values += 1;
        // Writing to a String does not fail.
        let _ = writeln!(self.body, "{name} = {operation}");
        Value { name, kind }
    }

    /// An operation of operands and a result of one type.
    pub(super) fn elementwise(&mut self, operation: &str, operands: &[&Value]) -> Value {
        let kind = operands[0].kind.clone();
        let names: Vec<&str> = operands.iter().map(|value| value.name.as_str()).collect();
        self.line(&format!("stablehlo.{operation} {} : {kind}", names.join(", ")), kind)
    }

    /// A scalar constant, written as StableHLO writes it.
    pub(super) fn scalar(&mut self, literal: &str, dtype: DType) -> Value {
        let kind = Type::scalar(dtype);
        self.line(&format!("stablehlo.constant dense<{literal}> : {kind}"), kind)
    }

    /// A scalar float constant, exact by its bits.
    pub(super) fn float(&mut self, value: f64, dtype: DType) -> Value {
        let literal = match dtype {
            DType::F64 => format!("0x{:016X}", value.to_bits()),
            _ => format!("0x{:08X}", (value as f32).to_bits()),
        };
        if matches!(dtype, DType::F32 | DType::F64) {
            return self.scalar(&literal, dtype);
        }
        let wide = self.scalar(&literal, DType::F32);
        self.convert(&wide, dtype)
    }

    /// A scalar repeated to a shape.
    pub(super) fn filled(&mut self, scalar: &Value, shape: &[usize]) -> Value {
        self.broadcast(scalar, shape, &[])
    }

    /// Repeats a value: axis `k` of it becomes axis `axes[k]` of the result.
    pub(super) fn broadcast(&mut self, value: &Value, shape: &[usize], axes: &[usize]) -> Value {
        let kind = Type::new(value.kind.dtype, shape);
        let operation = format!(
            "stablehlo.broadcast_in_dim {}, dims = {axes:?} : ({}) -> {kind}",
            value.name, value.kind
        );
        self.line(&operation, kind)
    }

    /// Converts to another dtype.
    pub(super) fn convert(&mut self, value: &Value, dtype: DType) -> Value {
        if value.kind.dtype == dtype {
            return value.clone();
        }
        let kind = Type::new(dtype, &value.kind.shape);
        self.line(&format!("stablehlo.convert {} : ({}) -> {kind}", value.name, value.kind), kind)
    }

    /// Gives another shape of as many elements.
    pub(super) fn reshape(&mut self, value: &Value, shape: &[usize]) -> Value {
        if value.kind.shape == shape {
            return value.clone();
        }
        let kind = Type::new(value.kind.dtype, shape);
        self.line(&format!("stablehlo.reshape {} : ({}) -> {kind}", value.name, value.kind), kind)
    }

    /// Compares elements; `direction` is EQ, NE, LT, LE, GT or GE.
    pub(super) fn compare(&mut self, direction: &str, left: &Value, right: &Value) -> Value {
        let kind = Type::new(DType::Bool, &left.kind.shape);
        let operation = format!(
            "stablehlo.compare {direction}, {}, {} : ({}, {}) -> {kind}",
            left.name, right.name, left.kind, right.kind
        );
        self.line(&operation, kind)
    }

    /// Chooses elements of one value or the other.
    pub(super) fn select(&mut self, condition: &Value, yes: &Value, no: &Value) -> Value {
        let kind = yes.kind.clone();
        let operation = format!(
            "stablehlo.select {}, {}, {} : {}, {kind}",
            condition.name, yes.name, no.name, condition.kind
        );
        self.line(&operation, kind)
    }

    /// Reduces axes by an operation of two scalars, starting from a scalar.
    pub(super) fn reduce(
        &mut self,
        value: &Value,
        operation: &str,
        start: &Value,
        axes: &[usize],
    ) -> Value {
        let kept = |axis: &usize| !axes.contains(axis);
        let shape: Vec<usize> =
            (0..value.kind.shape.len()).filter(kept).map(|axis| value.kind.shape[axis]).collect();
        let kind = Type::new(value.kind.dtype, &shape);
        let text = format!(
            "stablehlo.reduce({} init: {}) applies stablehlo.{operation} across dimensions = \
             {axes:?} : ({}, {}) -> {kind}",
            value.name, start.name, value.kind, start.kind
        );
        self.line(&text, kind)
    }

    /// Joins values along their first axis.
    pub(super) fn concatenate(&mut self, values: &[Value]) -> Value {
        let mut shape = values[0].kind.shape.clone();
        shape[0] = values.iter().map(|value| value.kind.shape[0]).sum();
        let kind = Type::new(values[0].kind.dtype, &shape);
        let names: Vec<&str> = values.iter().map(|value| value.name.as_str()).collect();
        let kinds: Vec<String> = values.iter().map(|value| value.kind.to_string()).collect();
        let operation = format!(
            "stablehlo.concatenate {}, dim = 0 : ({}) -> {kind}",
            names.join(", "),
            kinds.join(", ")
        );
        self.line(&operation, kind)
    }

    /// Takes a part of the first axis, `start..start + count`.
    pub(super) fn slice_first(&mut self, value: &Value, start: usize, count: usize) -> Value {
        let mut shape = value.kind.shape.clone();
        shape[0] = count;
        let kind = Type::new(value.kind.dtype, &shape);
        let mut parts = vec![format!("{start}:{}", start + count)];
        parts.extend(value.kind.shape[1..].iter().map(|length| format!("0:{length}")));
        let operation = format!(
            "stablehlo.slice {} [{}] : ({}) -> {kind}",
            value.name,
            parts.join(", "),
            value.kind
        );
        self.line(&operation, kind)
    }

    /// Counts along one axis: element `i` of it is `i`.
    pub(super) fn iota(&mut self, dtype: DType, length: usize) -> Value {
        let kind = Type::new(dtype, &[length]);
        self.line(&format!("stablehlo.iota dim = 0 : {kind}"), kind)
    }

    /// Multiplies all pairs of two vectors.
    pub(super) fn outer(&mut self, left: &Value, right: &Value) -> Value {
        let shape = [left.kind.shape[0], right.kind.shape[0]];
        let rows = self.broadcast(left, &shape, &[0]);
        let columns = self.broadcast(right, &shape, &[1]);
        self.elementwise("multiply", &[&rows, &columns])
    }

    /// Reverses the first axis.
    pub(super) fn reverse_first(&mut self, value: &Value) -> Value {
        self.line(
            &format!("stablehlo.reverse {}, dims = [0] : {}", value.name, value.kind),
            value.kind.clone(),
        )
    }

    /// Spreads the rows of a value over `length` rows, the first at `start` and `step` apart; the
    /// rows between hold `filler`.
    pub(super) fn spread_first(
        &mut self,
        value: &Value,
        filler: &Value,
        start: usize,
        step: usize,
        length: usize,
    ) -> Value {
        let mut shape = value.kind.shape.clone();
        let spread = shape[0].saturating_sub(1) * step + shape[0].min(1);
        shape[0] = length;
        let first_of = |first: usize| {
            let mut list = vec![0; shape.len()];
            list[0] = first;
            format!("{list:?}")
        };
        let (low, high) = (first_of(start), first_of(length - start - spread));
        let interior = first_of(step - 1);
        let kind = Type::new(value.kind.dtype, &shape);
        let operation = format!(
            "stablehlo.pad {}, {}, low = {low}, high = {high}, interior = {interior} : ({}, {}) \
             -> {kind}",
            value.name, filler.name, value.kind, filler.kind
        );
        self.line(&operation, kind)
    }

    /// Takes one row, whose index is a value, of the first axis.
    pub(super) fn row(&mut self, value: &Value, index: &Value) -> Value {
        let mut shape = value.kind.shape.clone();
        shape[0] = 1;
        let kind = Type::new(value.kind.dtype, &shape);
        let zero = self.scalar("0", index.kind.dtype);
        let mut starts = vec![index.name.as_str()];
        starts.resize(shape.len(), zero.name.as_str());
        let kinds = vec![index.kind.to_string(); shape.len()];
        let operation = format!(
            "stablehlo.dynamic_slice {}, {}, sizes = {shape:?} : ({}, {}) -> {kind}",
            value.name,
            starts.join(", "),
            value.kind,
            kinds.join(", ")
        );
        let row = self.line(&operation, kind);
        self.reshape(&row, &value.kind.shape[1..])
    }

    /// Joins a real part with a zero imaginary part.
    pub(super) fn complex(&mut self, real: &Value, dtype: DType) -> Value {
        let zero = self.float(0.0, real.kind.dtype);
        let zeros = self.filled(&zero, &real.kind.shape);
        let kind = Type::new(dtype, &real.kind.shape);
        let operation = format!(
            "stablehlo.complex {}, {} : ({}, {}) -> {kind}",
            real.name, zeros.name, real.kind, zeros.kind
        );
        self.line(&operation, kind)
    }
}

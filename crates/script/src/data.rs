//! Plain data between scripts and the host: what jobs take and give, and what events say.

use std::collections::BTreeMap;

use mlua::{Lua, LuaString, Value};

use crate::limits::{DATA_DEPTH_MAX, DATA_VALUES_MAX, TEXT_BYTES_MAX};

/// A value without functions, references or identity.
#[derive(Clone, Debug, PartialEq)]
pub enum Data {
    /// Nothing.
    Nil,
    /// A truth value.
    Bool(bool),
    /// A number.
    Number(f64),
    /// Bytes, UTF-8 or not.
    Text(Box<[u8]>),
    /// Values in order.
    List(Vec<Data>),
    /// Values by name.
    Map(BTreeMap<String, Data>),
}

impl From<f64> for Data {
    fn from(number: f64) -> Self {
        Self::Number(number)
    }
}

impl From<&str> for Data {
    fn from(text: &str) -> Self {
        Self::Text(text.as_bytes().into())
    }
}

/// The number of a value. Luau knows one kind of number; its bindings call whole ones integers.
pub(crate) fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Integer(number) => Some(*number as f64),
        Value::Number(number) => Some(*number),
        _ => None,
    }
}

/// A text, if it is no longer than one may be.
fn short(text: &LuaString) -> Result<&LuaString, String> {
    match text.as_bytes().len() <= TEXT_BYTES_MAX {
        true => Ok(text),
        false => Err(format!("a text in data has at most {TEXT_BYTES_MAX} bytes")),
    }
}

impl Data {
    /// A map with these entries.
    pub fn map<const N: usize>(entries: [(&str, Data); N]) -> Self {
        Self::Map(entries.map(|(name, value)| (name.to_owned(), value)).into())
    }

    /// The entry of a map.
    pub fn get(&self, name: &str) -> Option<&Data> {
        match self {
            Self::Map(entries) => entries.get(name),
            _ => None,
        }
    }

    /// The number.
    pub fn as_number(&self) -> Option<f64> {
        match self {
            Self::Number(number) => Some(*number),
            _ => None,
        }
    }

    /// Copies a value of a script, or says what it is that cannot be copied; also how many values were read.
    pub(crate) fn read(value: &Value) -> (Result<Self, String>, u32) {
        let mut left = DATA_VALUES_MAX;
        let data = Self::read_within(value, &mut left, DATA_DEPTH_MAX);
        (data, DATA_VALUES_MAX - left)
    }

    fn read_within(value: &Value, values_left: &mut u32, depth_left: usize) -> Result<Self, String> {
        let (Some(values), Some(depth)) = (values_left.checked_sub(1), depth_left.checked_sub(1)) else {
            return Err("the data is too large or nests too deep".to_owned());
        };
        *values_left = values;
        Ok(match value {
            Value::Nil => Self::Nil,
            Value::Boolean(is_true) => Self::Bool(*is_true),
            Value::Integer(_) | Value::Number(_) => Self::Number(number(value).unwrap_or_default()),
            Value::String(text) => Self::Text((*short(text)?.as_bytes()).into()),
            Value::Table(table) if table.raw_len() > 0 => {
                let mut list = Vec::new();
                for value in table.sequence_values::<Value>() {
                    let value = value.map_err(|error| error.to_string())?;
                    list.push(Self::read_within(&value, values_left, depth)?);
                }
                Self::List(list)
            }
            Value::Table(table) => {
                let mut entries = BTreeMap::new();
                for pair in table.pairs::<Value, Value>() {
                    let (name, value) = pair.map_err(|error| error.to_string())?;
                    let Value::String(name) = name else {
                        return Err("the names in data are texts".to_owned());
                    };
                    entries.insert(
                        short(&name)?.to_string_lossy(),
                        Self::read_within(&value, values_left, depth)?,
                    );
                }
                Self::Map(entries)
            }
            other => return Err(format!("a {} is no data", other.type_name())),
        })
    }

    /// Makes a value for a script.
    pub(crate) fn write(&self, lua: &Lua) -> mlua::Result<Value> {
        Ok(match self {
            Self::Nil => Value::Nil,
            Self::Bool(is_true) => Value::Boolean(*is_true),
            Self::Number(number) => Value::Number(*number),
            Self::Text(text) => Value::String(lua.create_string(text)?),
            Self::List(values) => {
                let table = lua.create_table_with_capacity(values.len(), 0)?;
                for value in values {
                    table.raw_push(value.write(lua)?)?;
                }
                Value::Table(table)
            }
            Self::Map(entries) => {
                let table = lua.create_table_with_capacity(0, entries.len())?;
                for (name, value) in entries {
                    table.raw_set(name.as_str(), value.write(lua)?)?;
                }
                Value::Table(table)
            }
        })
    }
}

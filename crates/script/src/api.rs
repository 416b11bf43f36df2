//! What scripts may call: the definitions for editors are the table from which functions are registered and the tables of the
//! manual are written.

use std::fmt::Write as _;

use mlua::{Function, Lua, Table, Value};

/// The definitions.
pub const DEFINITIONS: &str = include_str!("../../../assets/minds/trantor.d.luau");

/// A function or a field.
pub(crate) struct Entry {
    pub(crate) name: &'static str,
    /// Its Luau type.
    pub(crate) kind: &'static str,
    help: &'static str,
}

impl Entry {
    pub(crate) fn is_function(&self) -> bool {
        self.kind.contains("->")
    }

    /// Whether it is called with `:`.
    pub(crate) fn is_method(&self) -> bool {
        self.kind.starts_with("(self: ")
    }

    /// The type of what a function answers.
    pub(crate) fn answer(&self) -> &'static str {
        self.kind.rsplit_once("-> ").map_or("", |(_, answer)| answer)
    }
}

/// A type of values, with what it has.
pub(crate) struct Class {
    pub(crate) name: &'static str,
    /// What it has besides: `Base & {`.
    base: &'static str,
    help: &'static str,
    pub(crate) entries: Vec<Entry>,
}

impl Class {
    /// Types whose entries it has too.
    pub(crate) fn bases(&self) -> impl Iterator<Item = &'static str> {
        self.base.split(" & ").map(str::trim)
    }

    /// A value as scripts usually call it; empty if they write none.
    pub(crate) fn value(&self) -> &'static str {
        match self.name {
            "Actor" | "Agent" => "me",
            "Scenario" => "game",
            "Sight" => "sight",
            "Tile" => "tile",
            "Ticket" => "ticket",
            "Trantor" => "trantor",
            "Values" => "trantor.values",
            "Jobs" => "trantor.jobs",
            _ => "",
        }
    }
}

/// Reads the definitions: `--- help` comes before a type and before each of its entries, an entry is one line.
pub(crate) fn classes() -> Vec<Class> {
    let mut classes: Vec<Class> = Vec::new();
    let mut help = "";
    for line in DEFINITIONS.lines() {
        if let Some(text) = line.trim_start().strip_prefix("--- ") {
            help = text;
            continue;
        }
        let class = line.strip_prefix("export type ").filter(|_| line.ends_with('{'));
        let entry = line.strip_prefix("    ").and_then(|line| line.strip_suffix(','));
        if let Some((name, base)) = class.and_then(|class| class.split_once(" = ")) {
            let entries = Vec::new();
            classes.push(Class {
                name,
                base,
                help,
                entries,
            });
        } else if let (Some((name, kind)), Some(class)) =
            (entry.and_then(|entry| entry.split_once(": ")), classes.last_mut())
        {
            class.entries.push(Entry { name, kind, help });
        }
        help = "";
    }
    classes
}

/// What a VM is given of the registered functions.
pub(crate) struct Registered {
    pub(crate) agent: Table,
    pub(crate) scenario: Table,
    pub(crate) require: Function,
}

/// Registers the functions of the definitions, as the prelude has built them; what is not defined is not reachable.
pub(crate) fn register(lua: &Lua, built: &Table) -> mlua::Result<Registered> {
    let classes = classes();
    let pick = |into: &Table, name: &str| -> mlua::Result<()> {
        let from: Table = built.get(name)?;
        let class = classes.iter().filter(|class| class.name == name);
        for entry in class
            .flat_map(|class| &class.entries)
            .filter(|entry| entry.is_function())
        {
            into.raw_set(entry.name, from.get::<Function>(entry.name)?)?;
        }
        Ok(())
    };
    let class = |name: &str| -> mlua::Result<Table> {
        let methods = lua.create_table()?;
        pick(&methods, "Actor")?;
        pick(&methods, name)?;
        methods.set_readonly(true);
        let meta = lua.create_table()?;
        meta.raw_set("__index", methods)?;
        meta.raw_set("__metatable", false)?;
        meta.set_readonly(true);
        Ok(meta)
    };
    // The prelude makes these values itself; it must have what the definitions promise.
    for name in ["Tile", "Sight", "Ticket"] {
        pick(&lua.create_table()?, name)?;
    }
    let module = lua.create_table()?;
    pick(&module, "Trantor")?;
    for (name, library) in [("values", "Values"), ("jobs", "Jobs")] {
        let functions = lua.create_table()?;
        pick(&functions, library)?;
        functions.set_readonly(true);
        module.raw_set(name, functions)?;
    }
    module.set_readonly(true);
    let require = lua.create_function(move |_, name: Value| match name.as_string() {
        Some(name) if *name == "@trantor" => Ok(module.clone()),
        _ => Err(mlua::Error::runtime(
            "a script may require nothing but \"@trantor\"",
        )),
    })?;
    Ok(Registered {
        agent: class("Agent")?,
        scenario: class("Scenario")?,
        require,
    })
}

/// What scenarios may listen to.
pub(crate) fn scenario_events() -> Vec<&'static str> {
    let events = classes().into_iter().filter(|class| class.name == "Events");
    let entries = events.flat_map(|class| class.entries);
    entries.map(|entry| entry.name).collect()
}

/// The tables of the manual.
pub fn manual() -> String {
    let mut text = String::new();
    for class in classes() {
        let _ = writeln!(
            text,
            "**`{}`.** {}\n\n| | Type | |\n|---|---|---|",
            class.name, class.help
        );
        let value = class.value();
        let this = format!("(self: {}", class.name);
        for Entry { name, kind, help } in class.entries {
            let (sign, kind) = match kind.strip_prefix(&this) {
                Some(rest) => (":", format!("({}", rest.trim_start_matches(", "))),
                None => (".", kind.to_owned()),
            };
            let sign = if value.is_empty() { "" } else { sign };
            let kind = kind.replace('|', "\\|");
            let _ = writeln!(text, "| `{value}{sign}{name}` | `{kind}` | {help} |");
        }
        text.push('\n');
    }
    text
}

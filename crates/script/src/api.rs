//! What scripts may call: the one table that registers the functions, and from which the definitions for editors and the
//! table of the manual are written.

use std::fmt::Write as _;

use mlua::{Function, Lua, Table, Value};

/// One function or field.
pub struct Entry {
    /// As scripts write it.
    pub name: &'static str,
    /// Its Luau type; of a method without `self`.
    pub kind: &'static str,
    /// What it does.
    pub help: &'static str,
}

/// A type of values, with what they have.
struct Class {
    name: &'static str,
    help: &'static str,
    /// More that its values have: a list of others, for example.
    base: &'static str,
    fields: &'static [Entry],
    methods: &'static [Entry],
}

const fn entry(name: &'static str, kind: &'static str, help: &'static str) -> Entry {
    Entry { name, kind, help }
}

/// What scenarios may listen to, with the data of each.
pub const SCENARIO_EVENTS: &[Entry] = &[
    entry(
        "start",
        "{ width: number, height: number, teams: { string } }",
        "the match begins; comes first",
    ),
    entry(
        "join",
        "{ agent: number, team: string, x: number, y: number }",
        "an agent has joined",
    ),
    entry(
        "death",
        "{ agent: number, team: string }",
        "an agent has starved or was removed",
    ),
    entry(
        "level",
        "{ agent: number, team: string, level: number }",
        "an agent has reached a level",
    ),
    entry(
        "move",
        "{ agent: number, team: string, x: number, y: number }",
        "an agent stands on another tile",
    ),
    entry(
        "take",
        "{ agent: number, team: string, resource: string }",
        "an agent has picked something up",
    ),
    entry(
        "message",
        "{ agent: number, team: string, text: string }",
        "an agent has sent a message",
    ),
    entry("egg", "{ team: string, x: number, y: number }", "an egg was laid"),
    entry("win", "{ team: string? }", "the match has ended"),
];

const ACTOR_METHODS: &[Entry] = &[
    entry(
        "wait",
        "(units: number) -> ()",
        "waits; a fraction is allowed, a tenth is the least",
    ),
    entry(
        "after",
        "(units: number, run: () -> ()) -> number",
        "runs a function once, later; answers its number",
    ),
    entry(
        "every",
        "(units: number, run: () -> ()) -> number",
        "runs a function again and again; answers its number",
    ),
    entry(
        "cancel",
        "(timer: number) -> boolean",
        "cancels a timer; false if it is gone",
    ),
    entry(
        "mark",
        "(key: string, where: Place | { Place }, colour: string?, text: string?) -> ()",
        "marks a tile or a path for viewers, in place of the mark with that key; a colour is a name or `#rrggbb`",
    ),
    entry("unmark", "(key: string) -> ()", "removes a mark"),
    entry(
        "card",
        "(name: string, value: (string | number | boolean)?) -> ()",
        "shows a value by name; without one it is removed",
    ),
];

const AGENT_METHODS: &[Entry] = &[
    entry("forward", "() -> boolean", "one tile ahead, 7 units"),
    entry("left", "() -> boolean", "a quarter turn, 7 units"),
    entry("right", "() -> boolean", "a quarter turn, 7 units"),
    entry("look", "() -> Sight", "what is in sight, 7 units"),
    entry("inventory", "() -> Inventory", "what is carried, 1 unit"),
    entry("take", "(resource: Resource) -> boolean", "picks one up, 7 units"),
    entry("set", "(resource: Resource) -> boolean", "puts one down, 7 units"),
    entry(
        "broadcast",
        "(text: string) -> boolean",
        "sends a message to everybody, 7 units",
    ),
    entry(
        "incantation",
        "() -> boolean",
        "an elevation; answers at its end, 300 units, or at once if it is refused",
    ),
    entry(
        "eject",
        "() -> boolean",
        "pushes all others off the tile, 7 units",
    ),
    entry("fork", "() -> boolean", "lays an egg, 42 units"),
    entry("connect_nbr", "() -> number", "free places of the team, no time"),
    entry(
        "walk_to",
        "(tile: Place) -> boolean",
        "turns and walks until it stands there",
    ),
    entry(
        "position",
        "() -> (number, number, number)",
        "x, y and quarter turns to the right since its birth, counted from there: x to its right, y behind it",
    ),
    entry(
        "send",
        "(command: string, argument: string?) -> Ticket?",
        "sends a command and does not wait; nil if ten are in flight",
    ),
    entry(
        "wait_for_message",
        "(limit: number?) -> Message?",
        "the oldest message not read yet, or the next; nil after `limit` units",
    ),
    entry(
        "on",
        "(event: \"message\" | \"ejected\" | \"elevation\" | \"death\", run: ((any) -> ())?) -> ()",
        "runs a function with each message, direction of a push, new level (nil if the elevation failed), or at death",
    ),
    entry("note", "(text: string) -> ()", "what it thinks, for viewers"),
    entry(
        "join",
        "() -> ()",
        "a free place of the team is taken by a new agent of this script",
    ),
];

const SCENARIO_METHODS: &[Entry] = &[
    entry(
        "on",
        "(event: string, run: ((any) -> ())?) -> ()",
        "runs a function with the data of each event",
    ),
    entry("announce", "(text: string) -> ()", "shows a text to all viewers"),
    entry(
        "console",
        "(line: string) -> (boolean, string)",
        "does what an operator's line does; whether it was done, and the answer",
    ),
];

const PLACE: &str = "{ x: number, y: number }";

const COUNTS: &[Entry] = &[
    entry("food", "number", "pieces"),
    entry("linemate", "number", ""),
    entry("deraumere", "number", ""),
    entry("sibur", "number", ""),
    entry("mendiane", "number", ""),
    entry("phiras", "number", ""),
    entry("thystame", "number", ""),
];

const CLASSES: &[Class] = &[
    Class {
        name: "Inventory",
        help: "What an agent carries.",
        base: "",
        fields: COUNTS,
        methods: &[],
    },
    Class {
        name: "Message",
        help: "A message that was heard.",
        base: "",
        fields: &[
            entry("text", "string", "as it was sent"),
            entry(
                "direction",
                "number",
                "from where: 0 here, 1 ahead, then counter-clockwise to 8",
            ),
        ],
        methods: &[],
    },
    Class {
        name: "Tile",
        help: "A tile in sight.",
        base: "Inventory & ",
        fields: &[
            entry("x", "number", "see `position`"),
            entry("y", "number", ""),
            entry("ahead", "number", "tiles ahead of the agent as it looked"),
            entry("right", "number", "tiles to its right; negative to its left"),
            entry("players", "number", "other agents"),
            entry("eggs", "number", ""),
        ],
        methods: &[entry("has", "(name: Thing) -> boolean", "whether one is on it")],
    },
    Class {
        name: "Sight",
        help: "What is in sight: a list of tiles, the agent's own first, then row by row from left to right.",
        base: "{ Tile } & ",
        fields: &[],
        methods: &[
            entry(
                "nearest",
                "(name: Thing) -> Tile?",
                "the tile with one that is reached first",
            ),
            entry("count", "(name: Thing) -> number", "how many are in sight"),
        ],
    },
    Class {
        name: "Ticket",
        help: "A command that was sent without waiting.",
        base: "",
        fields: &[],
        methods: &[entry("wait", "() -> any", "its answer, once it is there")],
    },
    Class {
        name: "Actor",
        help: "What agents and scenarios have in common.",
        base: "",
        fields: &[entry(
            "state",
            "any",
            "what `migrate` is given when another source takes over; an empty table at first",
        )],
        methods: ACTOR_METHODS,
    },
    Class {
        name: "Agent",
        help: "An agent. Each command waits for its answer, which says whether it succeeded.",
        base: "Actor & ",
        fields: &[
            entry("team", "string", "its team"),
            entry("level", "number", "its level"),
            entry("index", "number", "how many minds its team had before it"),
            entry("width", "number", "tiles of the map along x; see `position`"),
            entry("height", "number", "tiles of the map along y"),
        ],
        methods: AGENT_METHODS,
    },
    Class {
        name: "Scenario",
        help: "A script beside the game.",
        base: "Actor & ",
        fields: &[],
        methods: SCENARIO_METHODS,
    },
];

const VALUES: &[Entry] = &[
    entry(
        "publish",
        "(name: string, value: (number | string | boolean)?) -> ()",
        "publishes a value to all agents of the team in this script",
    ),
    entry(
        "read",
        "(name: string) -> (number | string | boolean)?",
        "the value of that name",
    ),
];

const JOBS: &[Entry] = &[entry(
    "run",
    "(name: \"path\" | \"sleep\", data: any) -> any",
    "has the server do a job; `path` finds a way `from` a tile `to` another around those to `avoid`, on a map of `width` and `height` if given",
)];

const MODULE: &[Entry] = &[
    entry(
        "agent",
        "(main: (me: Agent) -> (), options: Options?) -> Definition",
        "what the file of an agent returns",
    ),
    entry(
        "scenario",
        "(main: (game: Scenario) -> (), options: Options?) -> Definition",
        "what the file of a scenario returns",
    ),
    entry("now", "() -> number", "the time of the game in units"),
    entry(
        "random",
        "(least: number?, most: number?) -> number",
        "like `math.random`: from the match's seed",
    ),
    entry(
        "log",
        "(...any) -> ()",
        "a line of the server's log; `print` is the same",
    ),
];

/// What a VM is given of the registered functions.
pub(crate) struct Registered {
    pub(crate) agent: Table,
    pub(crate) scenario: Table,
    pub(crate) require: Function,
}

/// Registers the functions of the tables above, as the prelude has built them; what no table lists is not reachable.
pub(crate) fn register(lua: &Lua, built: &Table) -> mlua::Result<Registered> {
    let pick = |into: &Table, class: &str, entries: &[Entry]| -> mlua::Result<()> {
        let from: Table = built.get(class)?;
        for entry in entries {
            into.raw_set(entry.name, from.get::<Function>(entry.name)?)?;
        }
        Ok(())
    };
    let class = |name: &str, parts: &[&[Entry]]| -> mlua::Result<Table> {
        let methods = lua.create_table()?;
        for entries in parts {
            pick(&methods, name, entries)?;
        }
        methods.set_readonly(true);
        let meta = lua.create_table()?;
        meta.raw_set("__index", methods)?;
        meta.raw_set("__metatable", false)?;
        meta.set_readonly(true);
        Ok(meta)
    };
    let module = lua.create_table()?;
    pick(&module, "trantor", MODULE)?;
    for (name, entries) in [("values", VALUES), ("jobs", JOBS)] {
        let library = lua.create_table()?;
        pick(&library, name, entries)?;
        library.set_readonly(true);
        module.raw_set(name, library)?;
    }
    module.set_readonly(true);
    let require = lua.create_function(move |_, name: Value| match name.as_string() {
        Some(name) if *name == "@trantor" => Ok(module.clone()),
        _ => Err(mlua::Error::runtime(
            "a script may require nothing but \"@trantor\"",
        )),
    })?;
    Ok(Registered {
        agent: class("Agent", &[ACTOR_METHODS, AGENT_METHODS])?,
        scenario: class("Scenario", &[ACTOR_METHODS, SCENARIO_METHODS])?,
        require,
    })
}

/// The type of a method: with `self`.
fn method(class: &str, kind: &str) -> String {
    match kind.strip_prefix("()") {
        Some(rest) => format!("(self: {class}){rest}"),
        None => format!("(self: {class}, {}", &kind[1..]),
    }
}

/// The definitions for editors: a module with the types of all that `require("@trantor")` answers.
pub fn definitions() -> String {
    let mut text = String::from(
        "--!strict\n-- Types of `require(\"@trantor\")` for editors. Written by `trantor-server types`.\n\n\
         export type Resource = \"food\" | \"linemate\" | \"deraumere\" | \"sibur\" | \"mendiane\" | \"phiras\" | \"thystame\"\n\
         export type Thing = Resource | \"player\" | \"egg\"\n",
    );
    let _ = writeln!(text, "export type Place = {PLACE}");
    let _ = writeln!(text, "export type Options = {{ migrate: ((old: any) -> any)? }}");
    let _ = writeln!(text, "export type Definition = {{ kind: string }}");
    let write = |text: &mut String, entry: &Entry, kind: &str| {
        if !entry.help.is_empty() {
            let _ = writeln!(text, "    --- {}", entry.help);
        }
        let _ = writeln!(text, "    {}: {kind},", entry.name);
    };
    for class in CLASSES {
        let _ = writeln!(
            text,
            "\n--- {}\nexport type {} = {}{{",
            class.help, class.name, class.base
        );
        for entry in class.fields {
            write(&mut text, entry, entry.kind);
        }
        for entry in class.methods {
            write(&mut text, entry, &method(class.name, entry.kind));
        }
        text.push_str("}\n");
    }
    text.push_str("\nlocal trantor: {\n");
    for entry in MODULE {
        write(&mut text, entry, entry.kind);
    }
    for (name, entries) in [("values", VALUES), ("jobs", JOBS)] {
        let _ = writeln!(text, "    {name}: {{");
        for entry in entries {
            write(&mut text, entry, entry.kind);
        }
        text.push_str("    },\n");
    }
    text.push_str("} = nil :: any\n\nreturn trantor\n");
    text
}

/// The tables of the manual.
pub fn manual() -> String {
    let mut text = String::new();
    let mut table = |title: &str, prefix: &str, entries: &mut dyn Iterator<Item = &Entry>| {
        let _ = writeln!(text, "**{title}**\n\n| | Type | |\n|---|---|---|");
        for entry in entries {
            let kind = entry.kind.replace('|', "\\|");
            let _ = writeln!(text, "| `{prefix}{}` | `{kind}` | {} |", entry.name, entry.help);
        }
        text.push('\n');
    };
    table("`trantor`: the module", "trantor.", &mut MODULE.iter());
    table(
        "`trantor.values` and `trantor.jobs`",
        "",
        &mut VALUES.iter().chain(JOBS),
    );
    for class in CLASSES {
        let title = format!("`{}`: {}", class.name, class.help);
        let prefix = match class.name {
            "Actor" | "Agent" => "me",
            "Scenario" => "game",
            "Sight" => "sight",
            "Tile" => "tile",
            "Ticket" => "ticket",
            _ => "",
        };
        let dot = if prefix.is_empty() {
            String::new()
        } else {
            format!("{prefix}.")
        };
        if !class.fields.is_empty() {
            table(&title, &dot, &mut class.fields.iter());
        }
        if !class.methods.is_empty() {
            table(&title, &format!("{prefix}:"), &mut class.methods.iter());
        }
    }
    table("Events of a scenario", "", &mut SCENARIO_EVENTS.iter());
    text
}

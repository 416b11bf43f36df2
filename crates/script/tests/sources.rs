//! Whatever a source is made of: it loads or is refused, soon and in words; and what it does is the same in every VM.

use std::collections::BTreeSet;

use trantor_model::MapSize;
use trantor_play::minds::{Act, MindFactory, Newborn, Percept};
use trantor_script::limits::{SOURCE_BYTES_MAX, TEXT_MAX};
use trantor_script::{Script, ScriptNews};
use trantor_time::GameTime;

fn body(body: &str) -> String {
    format!("\nlocal trantor = require('@trantor') return trantor.agent(function(me)\n{body}\nend)")
}

/// What a script whose routine is `text` logs before it first waits, and the first thing that goes wrong; the same however
/// the compiler optimises, which a source may ask for.
fn said(text: &str) -> (Vec<String>, Option<String>) {
    let [usual, none, most] = ["", "--!optimize 0", "--!optimize 2"].map(|asked| {
        let source = format!("{asked}{}", body(text));
        match Script::load("test.luau", source.as_bytes()) {
            Ok(script) => ran(&script),
            Err(error) => (Vec::new(), Some(error.to_string())),
        }
    });
    assert_eq!((&usual, &usual), (&none, &most), "{text:.80}");
    usual
}

fn ran(script: &Script) -> (Vec<String>, Option<String>) {
    let mut mind = script.clone().awaken(&newborn());
    mind.decide(GameTime::ZERO, &mut Vec::new());
    let (mut logged, mut failed) = (Vec::new(), None);
    while let Some(event) = script.next_event() {
        match event.news {
            ScriptNews::Log(line) => logged.push(line.into()),
            ScriptNews::Failed(error) => failed = failed.or(Some(error.to_string())),
            ScriptNews::Suspended => {}
            ScriptNews::NoAgents => {}
        }
    }
    (logged, failed)
}

fn newborn() -> Newborn {
    Newborn {
        seed: 1,
        ..Newborn::first("red", MapSize::new(10, 10).expect("a size"))
    }
}

#[track_caller]
fn logs(text: &str, expected: &[&str]) {
    assert_eq!(
        said(text),
        (expected.iter().map(ToString::to_string).collect(), None)
    );
}

#[track_caller]
fn fails(text: &str, expected: &str) {
    let (_, failed) = said(text);
    assert!(
        failed.as_deref().is_some_and(|failed| failed.contains(expected)),
        "{text:.80}: {failed:?}"
    );
}

/// The thread of a test has the stack of any worker: a source that nests deeper than is allowed must not find its end.
#[test]
fn no_source_takes_long_or_ends_the_process() {
    let nested =
        |open: &str, close: &str, times: usize| format!("x = {}1{}", open.repeat(times), close.repeat(times));
    let mut sources: Vec<String> = [
        "for ", "(", "`{", "a=a ", "{", "x.y", "not ", "a..", "-- \n", "[[", "`", "a,", "if ", "\\",
    ]
    .iter()
    .map(|part| part.repeat(SOURCE_BYTES_MAX / part.len()))
    .collect();
    for times in [300, 900, 200_000] {
        sources.extend([
            nested("(", ")", times),
            nested("a and ", "", times),
            nested("a < ", "", times),
            nested("not (#", ")", times),
            nested("{ [", "] = 1 }", times),
            nested("{ x = ", "}", times),
            format!("if a then {} end", "elseif a then ".repeat(times)),
            format!("{}{}", "do ".repeat(times), "end ".repeat(times)),
            format!("{}{}", "while a do ".repeat(times), "end ".repeat(times)),
            format!("{}{}", "repeat ".repeat(times), "until a ".repeat(times)),
            format!("{}{}", "for a in b do ".repeat(times), "end ".repeat(times)),
            format!("f{}", "()".repeat(times)),
            format!("local x: a{}", " | a".repeat(times)),
            format!("local x: {}a{}", "a<".repeat(times), ">".repeat(times)),
            format!("type a = {}a", "(a) -> ".repeat(times)),
            format!("x = {}1", "x :: ".repeat(times)),
            format!("local a <const> = {}", ";".repeat(times)),
            nested("{", "}", times),
            nested("`{", "}`", times),
            nested("- ", "", times),
            nested("1 .. ", "", times),
            nested("1 + ", "", times),
            nested("f(", ")", times),
            nested("function() return ", " end", times),
            nested("if a then 1 else ", "", times),
            format!("x = a{}", "[1]".repeat(times)),
            format!("x = a{}", ":b()".repeat(times)),
            format!("{}{}", "if a then ".repeat(times), "end ".repeat(times)),
            format!("local x: {}number{}", "{".repeat(times), "}".repeat(times)),
        ]);
    }
    for source in sources {
        let begin = source.chars().take(20).collect::<String>();
        let refused = Script::load("test.luau", source.as_bytes()).map(drop);
        let refused = refused.expect_err("it is no script").to_string();
        assert!(refused.starts_with("test.luau:"), "{begin}: {refused}");
    }
}

#[test]
fn a_table_is_ordered_by_no_address() {
    for key in ["{}", "print", "function() end", "me", "me.forward", "require"] {
        fails(
            &format!("local t = {{}} t[{key}] = 1"),
            "test.luau:3: a key is a number, a text or a boolean, not a",
        );
        fails(&format!("local t = {{ [{key}] = 1 }}"), "test.luau:3: a key is");
        fails(&format!("rawset({{}}, {key}, 1)"), "test.luau:3: a key is");
        fails(
            &format!("local t = {{}} local a, b = 1, 2 t[b], t[{key}] = a, b"),
            "test.luau:3: a key is",
        );
        fails(
            &format!("local t = {{ x = {{}} }} local function key() return {key} end\n t.x[key()] = 1"),
            "test.luau:4: a key is",
        );
        fails(
            &format!("local t = setmetatable({{}}, {{ __index = function() return 1 end }}) t[{key}] += 1"),
            "test.luau:3: a key is",
        );
    }
    // A table that was a key once, and is none any more.
    fails(
        "local t, keys = {}, {} for n = 1, 8 do keys[n] = {} t[keys[n]] = n end for n = 1, 8 do t[keys[n]] = nil end",
        "a key is",
    );
    // What is known to be a number is, even when a function changes it behind its back.
    fails(
        "local i = 1 local function change() i = {} end change() local t = {} t[i] = 1",
        "a key is",
    );
    fails(
        "local t = {} for i = 1, 2 do if i == 2 then i = {} end t[i] = 1 end",
        "a key is",
    );
    fails(
        "local t = {} for i = 1, 2 do local function change() i = {} end change() t[i] = 1 end",
        "a key is",
    );
    fails(
        "local t, k = {}, 1 for i = 1, 2 do t[k] = 1 k = {} end",
        "a key is",
    );
    fails("local t, k = {}, #'x' if me then k = {} end t[k] = 1", "a key is");
    fails(
        "local n = setmetatable({}, { __add = function() return {} end }) local t = {} t[n + 1] = 1",
        "a key is",
    );
    logs(
        "local t = {} t[1], t.a, t[true], t[2.5], t['b c'] = 1, 2, 3, 4, 5
        for i = 1, 3 do t[i] = i end for i = 3, 1, -1 do t[i + 10] = i end t[#t + 1] = 9
        local order = {} for key, value in t do order[#order + 1] = `{key}={value}` end
        for key in pairs({ x = 1, [true] = 2 }) do order[#order + 1] = tostring(key) end
        table.sort(order) print(table.concat(order, ' '))",
        &["11=1 12=2 13=3 1=1 2.5=4 2=2 3=3 4=9 a=2 b c=5 true true=3 x"],
    );
}

#[test]
fn what_is_guarded_does_what_it_did() {
    // Order, once each; deep in expressions, in loops, with all kinds of targets.
    logs(
        "local said = {} local function say(x) said[#said + 1] = x return x end
        local t = { a = {} }
        t[say('p')], t.a[say('q')] = say(1), say(2)
        t[say('p')] += say(10)
        local u = { [say('x')] = say(3), say(4), [say('y')] = { [say('z')] = say(5) } }
        print(table.concat(said, ' ')) print(t.p, t.a.q, u.x, u[1], u.y.z)
        local s = 'a' .. 1 .. say('b') .. (2 .. say('c')) s ..= 'd' print(s)
        print((function(...) local v = { ... } v[select('#', ...)] = 'last' return v[1], v[2] end)(1, 2))
        local i = 0 while true do i += 1 if i > 3 then break end if i == 2 then continue end t[i] = `{i}` .. '!' end print(t[1], t[2], t[3])
        print(pcall(function() t[nil] = 1 end)) print(pcall(function() t[0 / 0] = 1 end))
        print(setmetatable({}, { __concat = function() return { 1, 2 } end }) .. 'x')",
        &[
            "p q 1 2 p 10 x 3 4 y z 5",
            "11\t2\t3\t4\t5".replace('\t', " ").as_str(),
            "a1b2cd",
            "1 last",
            "1! nil 3!",
            "false script:12: table index is nil",
            "false script:12: table index is NaN",
            "table",
        ],
    );
    // More code than a short jump reaches, and more lines than a byte counts.
    let long: String = (0..1_500)
        .map(|n| format!("t['k' .. {n} % me.width] = {n} .. ''\n"))
        .collect();
    logs(
        &format!("local t = {{}}\n{long} print(t.k0, t.k9)"),
        &["1490 1499"],
    );
    fails(
        &format!("local t = {{}}\n{long}\nt[t] = 1"),
        "test.luau:1505: a key is",
    );
    fails(
        &format!("local t = {{}}\n{long}\nt.x.y = 1"),
        "test.luau:1505: attempt to index nil",
    );
    let many: String = (0..190).map(|n| format!("local v{n} = {n} ")).collect();
    logs(
        &format!("{many} local t = {{}} t[v9] = v1 .. v2 print(t[9])"),
        &["12"],
    );
}

#[test]
fn weak_tables_are_refused_however_they_are_made() {
    for source in [
        "local m = {} m.__mode = 'k'",
        "local m = { __mode = 'v' }",
        "local m = {} setmetatable({}, m) m['__' .. me.team .. 'mode'] = 'k'",
        "local m = {} rawset(m, '__mode', 'k')",
        "local m = { [('_'):rep(2) .. 'mode'] = 'k' }",
    ] {
        fails(
            &source.replace(" .. me.team", " .. me.team:sub(9)"),
            "weak tables (__mode) are not available",
        );
    }
}

#[test]
fn no_address_leaves_a_script() {
    let (logged, failed) = said(
        "local odd = { {}, print, function() end, me, setmetatable({}, { __metatable = { __tostring = true } }),
            setmetatable({}, { __tostring = true }), setmetatable({}, { __tostring = function() return {} end }),
            setmetatable({}, { __metatable = false, __tostring = function() return 1 end }), require, string, me.state,
            setmetatable({}, { __name = 'x', __type = 'y' }), getmetatable(''), select(2, pcall(trantor.now, {})),
            select(2, pcall(trantor.agent)), select(2, pcall(error, {})), select(2, pcall(me.wait, me, print)),
            select(2, pcall(function() return {} + 1 end)), select(2, pcall(function() return {} < {} end)),
            select(2, pcall(table.concat, { {} })), select(2, pcall(string.rep, {}, 1)), select(2, pcall(next, {}, {})) }
        for n = 1, 25 do
            local value = odd[n]
            for _, show in { tostring, print, function(v) return `{v}` end, function(v) return ('%s %q'):format(v, v) end,
                function(v) return ('%*'):format(v) end, function(v) return string.format('%p', v) end,
                function(v) return table.concat({ v }) end, function(v) return v .. '' end, function(v) error(v) end,
                function(v) return v.x.y end, function(v) v() end, function(v) return #v, -v end,
                function(v) for _ in v do end end, function(v) return math.abs(v) end, function(v) me:note(v) end,
                function(v) return select(v, 1) end, getmetatable, function(v) return { [v] = 1 } end,
                function(v) return string.pack('z', v) end, function(v) return tonumber(v) or v end, function(v) return setmetatable(v, v) end, typeof, type } do
                pcall(print, pcall(show, value))
            end
        end",
    );
    assert!(logged.len() > 200, "{failed:?} {logged:?}");
    for line in logged.iter().chain(&failed) {
        assert!(!line.contains("0x"), "{line}");
    }
    for (value, said) in [
        ("{}", "an error that is a table"),
        ("print", "an error that is a function"),
        ("me", "an error that is a table"),
        (
            "setmetatable({}, { __tostring = function() return 'x' end })",
            "x",
        ),
        (
            "setmetatable({}, { __tostring = function() while true do end end })",
            "more steps than it may",
        ),
        ("setmetatable({}, { __tostring = true })", ""),
    ] {
        fails(&format!("error({value})"), said);
        assert!(
            !self::said(&format!("error({value})"))
                .1
                .is_some_and(|said| said.contains("0x")),
            "{value}"
        );
    }
}

/// One resumption of each: it ends within its steps, and no single call works long.
#[test]
fn work_in_the_library_is_counted() {
    let steps = "more steps than it may";
    for source in [
        "while true do string.packsize(('b'):rep(4000)) end",
        "while true do string.find(('a'):rep(4000), ('a'):rep(2000) .. 'b', 1, true) end",
        "while true do (('a'):rep(4000)):find(('a-'):rep(9) .. 'b') end",
        "while true do string.split(('a,'):rep(2000)) end",
        "while true do pcall(table.concat, {}, '', 1, 1e9) end",
        "table.move({}, 1, 1e9, 2)",
        "table.move({}, '1', '1e9', 2)",
        "table.create('1e9')",
        "local t = table.create(5000, 0) while true do table.insert(t, 1, 0) end",
        "local t = table.create(5000, 0) while true do table.remove(t, '1') table.insert(t, '1', 0) end",
        "local t = table.create(5000, 0) while true do table.find(t, 1) end",
        "local t = table.create(5000, 0) while true do table.sort(t) end",
        "local t = {} while true do table.clear(t) end",
        "local t = {} while true do table.maxn(t) end",
        "local s = ('1'):rep(4000) while true do tonumber(s) end",
        "local s = ('x'):rep(4000) while true do s:upper() end",
        "local t = table.create(200, 0) while true do table.unpack(t) end",
        "local t = table.create(200, 0) while true do unpack(t) end",
        "while true do string.format('%s', 1) end",
    ] {
        let (_, failed) = said(source);
        let failed = failed.unwrap_or_else(|| panic!("it never waits: {source}"));
        assert!(
            failed.contains(steps) || failed.contains("not enough memory"),
            "{source}: {failed}"
        );
    }
    let long = format!("a text has at most {TEXT_MAX}");
    for source in [
        "local s = ('1'):rep(4e5)",
        "local s = 'x' while true do s ..= s end",
        "local s = 'x' while true do s = s .. s end",
        "local s = ('x'):rep(4000) s = `{s}{s}`",
        "local s = ('x'):rep(4000) s = table.concat({ s, s })",
        "local s = ('x'):rep(4000) s = s:gsub('x', 'yy')",
        "local s = ('x'):rep(4000) s = ('%s%s'):format(s, s)",
        "local s = string.pack('c5000', 'x')",
    ] {
        fails(source, &long);
    }
    fails(
        &format!("print('{}')", "x".repeat(5_000)),
        &format!("a text of 5000 bytes: {long}"),
    );
    for source in [
        "table.unpack({}, 1, 7900)",
        "unpack({}, 1, 7900)",
        "('x'):rep(4000):byte(1, -1)",
        "string.unpack(('b'):rep(999), '')",
    ] {
        fails(source, "values at once: 250 at most");
    }
    // Code without a call or a loop inside counts too.
    let straight = "x = x + 1 ".repeat(5_000);
    let (logged, failed) = self::said(&format!("local x = 0 for n = 1, 5000 do {straight} end print(x)"));
    assert!(logged.is_empty() && failed.is_some_and(|failed| failed.contains(steps)));
}

/// What a version of Luau has and scripts do not: an addition to it shows here, and needs a decision.
#[test]
fn the_library_is_what_is_listed() {
    let (logged, failed) = said(
        "for name, library in { string = string, table = table, math = math, bit32 = bit32 } do
            for entry in library do print(`{name}.{entry}`) end
        end
        for _, name in { 'assert', 'error' } do print(name) end",
    );
    assert_eq!(failed, None);
    let scripts: BTreeSet<String> = logged.into_iter().collect();
    let luau = mlua::Lua::new();
    let mut missing = BTreeSet::new();
    for library in ["string", "table", "math", "bit32"] {
        for entry in luau
            .globals()
            .get::<mlua::Table>(library)
            .unwrap()
            .pairs::<String, mlua::Value>()
        {
            let name = format!("{library}.{}", entry.unwrap().0);
            if !scripts.contains(&name) {
                missing.insert(name);
            }
        }
    }
    let missing: Vec<&str> = missing.iter().map(String::as_str).collect();
    assert_eq!(
        missing,
        ["math.randomseed", "table.foreach", "table.foreachi", "table.getn"]
    );
    let globals = "local names = {}
        for _, name in { 'coroutine', 'debug', 'os', 'utf8', 'buffer', 'vector', 'getfenv', 'setfenv', 'loadstring', '_G', 'gcinfo',
            'newproxy', 'collectgarbage', 'integer', 'class', 'dofile', 'load', 'io', 'package', 'host' } do names[#names + 1] = name end
        print(#names, coroutine, debug, os, utf8, buffer, vector, getfenv, setfenv, loadstring, _G, gcinfo, newproxy)";
    logs(globals, &["20 nil nil nil nil nil nil nil nil nil nil nil nil"]);
}

#[test]
fn walking_to_no_tile_is_refused() {
    for (tile, said) in [
        (
            "{ x = 0.5, y = 0 }",
            "a tile has whole numbers x and y, not 0.5 and 0",
        ),
        ("{ x = 0 / 0, y = 0 }", "a tile has whole numbers"),
        ("{ x = math.huge, y = 0 }", "a tile has whole numbers"),
        ("{ x = 1e6, y = 0 }", "more than 2000 tiles away"),
        ("{ x = '1', y = 0 }", "a tile has numbers"),
        ("5", "a tile has numbers"),
    ] {
        fails(&format!("me:walk_to({tile})"), said);
    }
}

#[test]
fn names_that_do_not_exist_are_found_at_load() {
    for (text, said) in [
        (
            "me:fwd()",
            ":1:4: me:fwd does not exist; did you mean me:forward?",
        ),
        (
            "print(me.levl)",
            ":1:10: me.levl does not exist; did you mean me.level?",
        ),
        (
            "if me.level > 1 then\n  me:on('message', function(m) me:brodcast(m.text) end)\nend",
            ":2:35: me:brodcast does not",
        ),
        (
            "trantor.loog(1)",
            ":1:9: trantor.loog does not exist; did you mean trantor.log?",
        ),
        (
            "trantor.values.red('x')",
            ":1:16: trantor.values.red does not exist; did you mean trantor.values.read?",
        ),
        (
            "trantor.jobs.start('x')",
            ":1:14: trantor.jobs.start does not exist",
        ),
        (
            "print(me:look():nearst('food'))",
            ":1:17: sight:nearst does not exist; did you mean sight:nearest?",
        ),
        (
            "local t = me:look()[1]\nlocal s = t.fod",
            ":2:13: tile.fod does not exist; did you mean tile.food?",
        ),
        (
            "local t = me:look():nearest('food') if t then print(t.distance) end",
            ":1:55: tile.distance",
        ),
        (
            "local t = me:send('look') print(t:wate())",
            ":1:35: ticket:wate does not exist; did you mean ticket:wait?",
        ),
        (
            "local you = me while true do you:forwards() end",
            ":1:34: me:forwards does not",
        ),
        ("me.x.y = me.z", ":1:4: me.x does not exist"),
    ] {
        for main in [
            format!("return trantor.agent(function(me) {text}\nend)"),
            format!("local function main(me) {text}\nend return trantor.agent(main)"),
            format!(
                "local function step(me) {text}\nend return trantor.agent(function(it) while true do step(it) it:wait(1) end end)"
            ),
            format!("local run = trantor.agent return run(function(me) {text}\nend, {{ migrate = print }})"),
        ] {
            let source = format!("local trantor = require('@trantor')\n{main}");
            let error = Script::load("test.luau", source.as_bytes())
                .map(drop)
                .expect_err(text);
            let (mut place, words) = said.split_once(": ").expect("a place and words");
            let mut numbers = place[1..]
                .split(':')
                .map(|number| number.parse::<u32>().expect("a number"));
            let (line, column) = (
                numbers.next().expect("a line") + 1,
                numbers.next().expect("a column"),
            );
            place = main.lines().next().unwrap_or_default();
            let before = if line == 2 {
                place.find(text.lines().next().unwrap_or_default()).unwrap_or(0) as u32
            } else {
                0
            };
            assert_eq!(
                (error.line, error.column),
                (line, Some(column + before)),
                "{error} {source}"
            );
            assert!(error.message.contains(words), "{error}");
        }
    }
    for text in [
        "me.speed = 1 print(me.speed) me.state.x = 2 print(me.state.x, me[me.team], me.width)",
        "function me:run() end me:run()",
        "local with = { fly = print } for name, run in with do me[name] = run end me:fly()",
        "me = { fwd = 1 } me:forwards()",
        "local x = me if me.level then x = {} end x:forwards()",
        "for _, x in { me, {} } do pcall(function() x:forwards() end) end",
        "local x if me.level > 0 then x = me else x = { } end pcall(function() x:forwards() end)",
        "local function f(x) pcall(function() return x.foo.bar end) end f(me) f({})",
        "local function f(x) return x and x.foo end me:on('message', f) f(me)",
        "local t = me:look() t.mine = 1 print(t.mine, #t, t[1].x) local u = t:nearest('food') u.seen = true print(u.seen)",
        "while true do local x = me me:wait(1) x = {} x.y = x.z end",
        "local require = function() return {} end local t = require('@trantor') print(t.anything)",
        "local log = trantor.log log(trantor.now(), trantor.random(5), me:position())",
        "local m = me:wait_for_message(1) if m then print(m.text, m.direction, me:inventory().food) end",
    ] {
        if let Err(error) = Script::load("test.luau", body(text).as_bytes()) {
            panic!("{text}: {error}");
        }
    }
    let scenario =
        "local trantor = require('@trantor') return trantor.scenario(function(game) game:anounce('x') end)";
    let refused = trantor_script::Scenario::load("s.luau", scenario.as_bytes(), 1)
        .map(drop)
        .expect_err("a name");
    assert_eq!(
        refused.to_string(),
        "s.luau:1:81: game:anounce does not exist; did you mean game:announce?"
    );
}

/// Acts of a mind that meets what comes, as a text.
#[test]
fn two_vms_do_the_same() {
    let text = "local t = {}
        while true do
            for n = 1, 200 do local garbage = { n } end
            for n = 1, 40 do
                local kind = math.random(6)
                local key = if kind == 1 then math.random(50) elseif kind == 2 then `k{math.random(500)}` elseif kind == 3 then math.random() > 0.5
                    elseif kind == 4 then math.random(50) / 4 elseif kind == 5 then -math.random(50) else #t + 1
                if math.random(3) == 1 then t[key] = nil else t[key] = n end
            end
            local order = {}
            for key in t do order[#order + 1] = tostring(key) end
            me:broadcast(`{#t} {next(t)} {table.concat(order, ' ', 1, math.min(#order, 30))}`)
            if math.random(9) == 1 then table.clear(t) end
        end";
    let play = |file: &str, ballast: usize| {
        let _held: Vec<Box<[u8]>> = (0..ballast).map(|n| vec![0; n % 97 * 8 + 1].into()).collect();
        let mut script = Script::load(file, body(text).as_bytes()).unwrap();
        let mut mind = script.awaken(&newborn());
        let mut acts = Vec::new();
        for unit in 0..1_000 {
            mind.perceive(&Percept::Ok);
            mind.decide(GameTime::from_units(unit * 10), &mut acts);
        }
        assert_eq!(script.counts().errors, 0, "{:?}", script.next_event());
        acts
    };
    let first = play("a", 0);
    assert!(first.iter().filter(|act| matches!(act, Act::Command(_))).count() > 300);
    for (file, ballast) in [("x", 1), ("another/folder/test.luau", 1_000), ("a", 5_000)] {
        assert!(first == play(file, ballast));
    }
}

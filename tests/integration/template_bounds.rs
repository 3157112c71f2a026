//! Templates that are made to break programs: each ends soon, with a finding that names its file and line.

use std::process::Command;

use crate::support::{Repo, Run, assert_says};

/// Runs `sipgen generate` with a template of the repo's own that is a file of a load balancer. No template may take more
/// than this memory or time, which is many times what the bounds come to.
fn rendered(template: &str, partial: Option<&str>) -> (Repo, Run) {
    let repo = Repo::of_fixture("quickstart");
    repo.write("sipgen.yaml", "templates: own\n");
    repo.write("own/loadbalancer/haproxy.cfg", template);
    if let Some(partial) = partial {
        repo.write("own/partials/x", partial);
    }
    let mut command = Command::new("prlimit");
    command.args([
        "--as=1500000000",
        "--cpu=60",
        "timeout",
        "300",
        env!("CARGO_BIN_EXE_sipgen"),
        "generate",
    ]);
    let run = crate::support::run(command.current_dir(repo.path()));
    assert!(
        (0..=2).contains(&run.code),
        "ended with {}: {:.300}\n{}",
        run.code,
        template,
        run.stderr
    );
    assert!(!run.stderr.contains("panicked"), "{}", run.stderr);
    (repo, run)
}

#[track_caller]
fn assert_refused(template: &str, line: usize) {
    let (_, run) = rendered(template, None);
    let shown: String = template.chars().take(300).collect();
    assert_eq!(run.code, 1, "{shown}\n{}", run.stderr);
    assert!(
        run.stderr.contains("error[SIP0702]: the template loadbalancer/haproxy.cfg"),
        "{shown}\n{}",
        run.stderr
    );
    // What runs out of steps is known by its line alone.
    let place = format!("--> own/loadbalancer/haproxy.cfg:{line}");
    let is_there = run.stderr.lines().any(|at| {
        at.trim_start()
            .strip_prefix(&place)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(':'))
    });
    assert!(is_there, "{place} of {shown}\n{}", run.stderr);
}

#[test]
fn a_template_may_have_256_kib() {
    let head = "{# a comment of any length: ";
    let of_size = |size: usize| format!("{head}{} #}}\nx\n", "x".repeat(size - head.len() - 6));
    let largest = 256 * 1024;

    let (repo, run) = rendered(&of_size(largest), None);
    run.expect(0);
    assert!(repo.exists("overlays/clusters/tenant-a/edge"));

    let (_, run) = rendered(&of_size(largest + 1), None);
    let said = ["SIP0702", "it has 262145 bytes, more than the limit of 256 KiB"];
    assert_says(&run.expect(1).stderr, &said);
    let (_, run) = rendered("{% include 'partials/x' %}", Some(&of_size(largest + 1)));
    assert_says(&run.expect(1).stderr, &said);
}

const DOUBLING: &str = "{% set ns = namespace(x='ab') %}\n{% for i in range(64) %}\n";

#[test]
fn loops_without_end() {
    for template in [
        "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}",
        "{% for i in range(99999) %}{% for j in range(99999) %}{{ i }}{% endfor %}{% endfor %}",
        "{% macro m(n) %}{{ m(n) }}{% endmacro %}{{ m(1) }}",
        "{% macro m(n) %}{% if n %}{{ m(n - 1) }}{{ m(n - 1) }}{% endif %}{% endmacro %}{{ m(30) }}",
        "{% for x in [[1]] recursive %}{{ loop([[1]]) }}{% endfor %}",
        "{% block a %}{{ self.a() }}{% endblock %}",
        "{% set x = '0123456789abcdef' * 60000 %}{% for i in range(99999) %}{% if x == x ~ '' %}{% endif %}{% endfor %}",
        "{% set x = 'a' * 1000000 %}{% for i in range(99999) %}{{ 'b' in x }}{% endfor %}",
        "{% set x = 'a' * 1000000 %}{% for i in range(99999) %}{{ x[i] }}{% endfor %}",
    ] {
        assert_refused(template, 1);
    }
}

#[test]
fn values_that_double() {
    for step in [
        "{% set ns.x = ns.x ~ ns.x %}",
        "{% set ns.x = ns.x + ns.x %}",
        "{% set ns.x = ns.x * 2 %}",
        "{% set ns.x = [ns.x, ns.x] %}",
        "{% set ns.x = (ns.x, ns.x) %}",
        "{% set ns.x = {'a': ns.x, 'b': ns.x} %}",
        "{% set ns.x = dict(a=ns.x, b=ns.x) %}",
        "{% set ns.x = namespace(a=ns.x, b=ns.x) %}",
        "{% set ns.x = ns %}",
        "{% set ns.x = [ns.x]|chain([ns.x])|list %}",
        "{% set ns.x = ns.x|replace('', ns.x) %}",
        "{% set ns.x = [ns.x, ns.x]|join(ns.x) %}",
        "{% set ns.x = '%s%s'|format(ns.x, ns.x) %}",
        "{% set ns.x = [ns.x, ns.x]|sum(start='') %}",
        "{% set ns.x = ns.x|tojson|tojson|tojson %}",
        "{% set ns.x = [ns.x]|tojson(indent=900) %}",
        "{% macro m(a) %}{{ a }}{{ a }}{% endmacro %}{% set ns.x = m(ns.x) %}",
        "{% set y %}{{ ns.x }}{{ ns.x }}{% endset %}{% set ns.x = y %}",
        "{% filter replace('a', ns.x) %}aaaa{% endfilter %}{% set ns.x = ns.x ~ ns.x %}",
        "{% set q = ns.x %}{% macro m() %}{{ q }}{% endmacro %}{% set ns.x = m %}",
    ] {
        assert_refused(&format!("{DOUBLING}{step}\n{{% endfor %}}\n"), 3);
    }
}

#[test]
fn values_that_are_large_at_once() {
    for template in [
        "{{ 'x' * 99000000 }}",
        "{{ ([1] * 99000000)|length }}",
        "{{ ((1, 2) * 49000000)|length }}",
        "{{ (49000000 * (1, 2))|length }}",
        "{% set x = 'a' * 9000000 %}{{ x ~ x ~ x ~ x ~ x ~ x ~ x ~ x }}",
        "{% set x = [1] * 400000 %}{{ (x + x + x + x + x + x)|length }}",
        "{{ range(99999)|list|join('0123456789abcdef' * 60000) }}",
        "{{ ('a' * 100000)|replace('a', 'b' * 100000) }}",
        "{{ expiry|default({'a': 1})|block(4000000000) }}",
        "{{ 'a\\nb'|indent(4000000000) }}",
        "{{ [1]|tojson(indent=4000000000) }}",
        "{{ [1]|batch(4000000000, 1) }}",
        "{{ [1]|slice(4000000000, 1) }}",
        "{{ '%4000000000d'|format(1) }}",
        "{{ '%*d'|format(4000000000, 1) }}",
        "{{ ('a' * 9000000)|list|length }}",
        "{{ ('a' * 9000000)|split('') }}",
        "{% for c in 'a' * 9000000 %}{% endfor %}",
        "{% if false %}{{ ['x' * 99000000, 'x' * 99000000, 'x' * 99000000] }}{% endif %}{{ 'x' * 99000000 }}",
    ] {
        assert_refused(template, 1);
    }
}

#[test]
fn texts_that_are_written_without_end() {
    let line = "0123456789 ".repeat(4_000);
    for template in [
        format!("{{% for i in range(99999) %}}\n{line}{{% endfor %}}"),
        format!("{{% set x %}}{{% for i in range(99999) %}}\n{line}{{% endfor %}}{{% endset %}}"),
        format!(
            "{{% macro m() %}}\n{line}{{% endmacro %}}{{% for i in range(99999) %}}{{% set x = m() %}}{{% endfor %}}"
        ),
        format!("{{% for i in range(99999) %}}\n{{% raw %}}{line}{{% endraw %}}{{% endfor %}}"),
        format!("{{% for i in range(99999) %}}\n{}x{{% endfor %}}", " ".repeat(40_000)),
    ] {
        let (_, run) = rendered(&template, None);
        assert_says(
            &run.expect(1).stderr,
            &["the template makes more than 16 MiB", "--> own/loadbalancer/haproxy.cfg:"],
        );
    }
}

/// Expressions and tags that are nested, or look so to a parser.
fn nested(depth: usize) -> Vec<String> {
    let of = |open: &str, inner: &str, close: &str| {
        format!("{}{inner}{}", open.repeat(depth), close.repeat(depth))
    };
    vec![
        format!("{{{{ {} }}}}", of("not ", "1", "")),
        format!("{{{{ {} }}}}", of("- ", "1", "")),
        format!("{{{{ {} }}}}", of("(", "1", ")")),
        format!("{{{{ {} }}}}", of("[", "1", "]")),
        format!("{{{{ {} }}}}", of("{1: ", "1", "}")),
        format!("{{{{ {} }}}}", of("range(", "1", ")")),
        format!("{{{{ {} }}}}", of("", "name", ".x")),
        format!("{{{{ {} }}}}", of("", "name", "[0]")),
        format!("{{{{ {} }}}}", of("", "name", "|upper")),
        format!("{{{{ {} }}}}", of("", "name", " is string")),
        format!("{{{{ {} }}}}", of("", "1", " + 1")),
        format!("{{{{ {} }}}}", of("", "1", " ** 1")),
        format!("{{{{ {} }}}}", of("", "1", " ~ 1")),
        format!("{{{{ {} }}}}", of("", "1", " and 1")),
        format!("{{{{ {} }}}}", of("", "1", " == 1")),
        format!("{{{{ {} }}}}", of("", "1", " if 1 else 1")),
        of("{% if 1 %}", "", "{% endif %}"),
        of("{% for x in [1] %}", "", "{% endfor %}"),
        of("{% with x = 1 %}", "", "{% endwith %}"),
        of("{% set x %}", "", "{% endset %}"),
        of("{% filter upper %}", "", "{% endfilter %}"),
        format!("{{% if 1 %}}{}{{% endif %}}", "{% elif 1 %}".repeat(depth)),
        format!("{{% set x = 1 %}}{}", "{% set x = [x] %}".repeat(depth)),
        format!("{{% set x = 1 %}}{}", "{% set x = x, x %}".repeat(depth)),
        format!("{{% set x = 'a' %}}{}", "{% set x = x ~ x %}".repeat(depth)),
        format!("{{% set x = [1] %}}{}{{{{ x }}}}", "{% set x = x[0:] %}".repeat(depth)),
        format!("{{% set x = [1] %}}{}{{{{ x }}}}", "{% set x = x + x[:0] %}".repeat(depth)),
    ]
}

#[test]
fn what_is_nested_ends_also_in_a_partial_that_nobody_includes() {
    for depth in [150, 2_000, 50_000] {
        for template in nested(depth) {
            let (_, run) = rendered("x\n", Some(&template));
            let shown: String = template.chars().take(60).collect();
            if run.code != 0 {
                assert!(
                    run.stderr.contains("--> own/partials/x"),
                    "{depth} of {shown}: {}",
                    run.stderr
                );
            }
            if depth < 50_000 {
                rendered(&template, None);
            }
        }
    }
}

#[test]
fn templates_that_lead_back_to_themselves() {
    for partial in [
        "{% include 'partials/x' %}",
        "{% include ['partials/x'] %}",
        "{% import 'partials/x' as x %}",
        "{% from 'partials/x' import y %}",
        "{% extends 'partials/x' %}",
        "{% block a %}{% include 'partials/x' %}{% endblock %}",
        "{% for i in range(9) %}{% include 'partials/x' %}{% endfor %}",
    ] {
        let (_, run) = rendered("{% include 'partials/x' %}", Some(partial));

        assert_says(
            &run.expect(1).stderr,
            &["error[SIP0702]: the template partials/x", "--> own/partials/x:1:"],
        );
    }
}

#[test]
fn what_is_large_and_harmless_is_rendered() {
    let template = "{% set ns = namespace(seen=[], count=0) %}\n{% for i in range(5000) %}\n{% set ns.count = ns.count + 1 %}\n\
                    {% if i % 100 == 0 %}{% set ns.seen = ns.seen + [i] %}{% endif %}\n\
                    server {{ '%05d'|format(i) }} {{ name ~ '-' ~ i }} {{ servers[0].address }} check port {{ i * 2 }}\n\
                    {% endfor %}\n{{ ns.count }} {{ ns.seen|join(',') }} {{ servers[0:1]|length }} {{ (servers * 3)|length }}\n";

    let (repo, run) = rendered(template, None);

    run.expect(0);
    let text = repo.read("overlays/clusters/tenant-a/edge/loadbalancer-worker/haproxy.cfg");
    assert!(text.contains("\nserver 04999 loadbalancer-worker-edge-4999 "), "{text:.500}");
    assert_says(&text, &["5000 0,100,200,", " check port 9998\n"]);
}

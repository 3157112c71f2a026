# https://just.systems: `just` lists these.

_default:
    @just --list

# tests that need no other program
quick *arguments:
    tests/run --quick {{ arguments }}

# every check; installs the programs that it needs
all:
    tests/run

# formats and lints
lint:
    cargo fmt
    cargo clippy --locked --all-targets -- -D warnings

# records the outputs of fixtures anew; read the difference before you commit it
bless:
    INSTA_UPDATE=always cargo nextest run --locked -E 'binary(integration)'

# generates the reference in docs/
docs:
    SIPGEN_UPDATE_DOCS=1 cargo nextest run --locked -E 'test(/^(documentation::the_commands|findings|reference|schemas)|command_reference|its_schema/)'

# builds the site of docs/ into target/book, and opens it
book:
    mdbook build --open

# the example of README.md
example:
    rm -rf target/quickstart
    mkdir -p target
    cp -r fixtures/quickstart target/quickstart
    cargo run --quiet --locked -- generate --repo target/quickstart

//! How long sipgen takes for a whole site, and how much memory, held against the mere parsing of its inventory.
//!
//! `cargo bench --bench site` prints a table; `benches/README.md` says what is in it.

// The table is this program's result, and there is no other way to hand it over.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod instructions;
mod measure;
mod objects;
mod report;
mod synthetic;

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use instructions::Counted;
use measure::{Run, files_below};
use report::Measured;
use synthetic::{Layout, Scale, SiteSize, write_site};

/// The sizes that are always measured, each ten times the one before, with their number of rounds.
const SCALES: [(Scale, usize); 2] =
    [(Scale { hosts: 1_000, clusters: 50 }, 7), (Scale { hosts: 10_000, clusters: 500 }, 5)];

/// The size that is measured on request: it needs a gigabyte of disk and minutes of time.
const LARGE: (Scale, usize) = (Scale { hosts: 100_000, clusters: 5_000 }, 3);

/// The size beyond that: it needs 30 GB of disk and half an hour.
const MILLION: (Scale, usize) = (Scale { hosts: 1_000_000, clusters: 50_000 }, 1);

/// Set to `1`, it asks for the large size too, for CI jobs that cannot pass arguments.
const LARGE_VARIABLE: &str = "SIPGEN_BENCH_LARGE";

const USAGE: &str = "\
usage: cargo bench --bench site -- [--quick | --large | --million] [--single-file | --output]
       cargo bench --bench site -- --instructions [--quick | --large] [--single-file | --output] [--against PROGRAM]
       cargo bench --bench site -- --write DIR HOSTS CLUSTERS [--single-file | --output]";

/// What the arguments ask for.
enum Request {
    /// `cargo test` and the like only want to know that this compiles.
    Nothing,
    /// The baseline in a format, in the process that was started for it.
    Baseline(String, PathBuf),
    /// A site to play with.
    Write(PathBuf, Scale, Layout),
    /// The table.
    Measure(Vec<(Scale, usize)>, Layout),
    /// The table of instructions, also for another program.
    Count(Vec<(Scale, usize)>, Layout, Option<PathBuf>),
}

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    let done = match request(&arguments) {
        Ok(request) => serve(request),
        Err(why) => Err(io::Error::new(io::ErrorKind::InvalidInput, format!("{why}\n{USAGE}"))),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Reads the arguments. `cargo bench` adds `--bench` to them, and only then is anything slow wanted; without,
/// they are those of `cargo test`, meant for libtest.
fn request(arguments: &[OsString]) -> Result<Request, String> {
    if let [flag, format, repo] = arguments
        && flag == measure::BASELINE_FLAG
    {
        let format = format.to_string_lossy().into_owned();
        return Ok(Request::Baseline(format, repo.into()));
    }
    if !arguments.iter().any(|argument| argument == "--bench") {
        return Ok(Request::Nothing);
    }
    let (mut quick, mut instructions, mut layout) = (false, false, Layout::FilePerRack);
    let mut against = None;
    let mut million = false;
    let mut large = std::env::var_os(LARGE_VARIABLE).is_some_and(|value| value == "1");
    let mut written = None;
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        match argument.to_str() {
            Some("--bench") => {}
            Some("--quick") => quick = true,
            Some("--large") => large = true,
            Some("--million") => million = true,
            Some("--single-file") => layout = Layout::SingleFile,
            Some("--output") => layout = Layout::WithOutput,
            Some("--instructions") => instructions = true,
            Some("--against") => {
                against = Some(PathBuf::from(arguments.next().ok_or("--against needs a program")?));
            }
            Some("--write") => {
                let dir = arguments.next().ok_or("--write needs a directory")?;
                let (hosts, clusters) = (number(arguments.next())?, number(arguments.next())?);
                written = Some((PathBuf::from(dir), Scale { hosts, clusters }));
            }
            _ => return Err(format!("unknown argument {}", argument.display())),
        }
    }
    let scales = if quick {
        SCALES.into_iter().take(1).map(|(scale, _)| (scale, 1)).collect()
    } else {
        let large = (large || million).then_some(LARGE);
        let all = SCALES.into_iter().chain(large);
        all.chain(million.then_some(MILLION)).collect()
    };
    Ok(match written {
        Some((dir, scale)) => Request::Write(dir, scale, layout),
        None if instructions => Request::Count(scales, layout, against),
        None => Request::Measure(scales, layout),
    })
}

fn number(argument: Option<&OsString>) -> Result<usize, String> {
    let argument = argument.ok_or("--write needs numbers of hosts and clusters")?;
    argument
        .to_str()
        .and_then(|text| text.parse().ok())
        .ok_or_else(|| format!("{} is not a number", argument.display()))
}

fn serve(request: Request) -> io::Result<()> {
    match request {
        Request::Nothing => Ok(()),
        Request::Baseline(format, repo) => {
            let (time, bytes) = measure::deserialise_inventory(&format, &repo)?;
            println!("{} {bytes}", time.as_nanos());
            Ok(())
        }
        Request::Write(dir, scale, layout) => {
            let size = write_repo(&dir, scale, layout)?;
            println!(
                "{} files, {} bytes of inventory in {}",
                size.files,
                size.inventory_bytes,
                dir.display()
            );
            Ok(())
        }
        Request::Measure(scales, layout) => measure_all(&scales, layout),
        Request::Count(scales, layout, against) => count_all(&scales, layout, against),
    }
}

fn measure_all(scales: &[(Scale, usize)], layout: Layout) -> io::Result<()> {
    // Beside the build, because /tmp is memory on some machines and a disk on others.
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
    report::print_head();
    let mut smaller: Option<Measured> = None;
    for (scale, rounds) in scales {
        let measured =
            measure_scale(&dir.path().join(scale.hosts.to_string()), *scale, *rounds, layout)?;
        report::print_row(&measured, smaller.as_ref());
        smaller = Some(measured);
    }
    report::print_targets();
    Ok(())
}

/// Counts instructions for each size. Counts vary by less than a percent, so one round is enough.
fn count_all(
    scales: &[(Scale, usize)],
    layout: Layout,
    against: Option<PathBuf>,
) -> io::Result<()> {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
    let programs = [Some(PathBuf::from(measure::SIPGEN)), against];
    report::print_head_of_counts();
    for (scale, _) in scales {
        let dir = dir.path().join(scale.hosts.to_string());
        let repo = &dir.join("repo");
        let size = write_repo(repo, *scale, layout)?;
        let mut counted = Vec::new();
        for (number, program) in programs.iter().flatten().enumerate() {
            if number > 0 {
                fs::rename(repo.join("overlays"), dir.join(format!("overlays-{number}")))?;
            }
            let generate = instructions::of_sipgen(program, repo, &["generate"])?;
            let check = instructions::of_sipgen(program, repo, &["generate", "--check"])?;
            let name =
                if number == 0 { "sipgen".to_owned() } else { program.display().to_string() };
            counted.push((name, generate, check));
        }
        let counted = Counted {
            programs: counted,
            yaml: instructions::of_baseline("yaml", repo)?.0,
            json: instructions::of_baseline("json", repo)?,
        };
        report::print_counts(*scale, size.inventory_bytes, &counted);
    }
    report::print_targets_of_counts();
    Ok(())
}

/// Measures one size. Each round runs everything once, so that a machine that grows slow or fast does so for
/// all alike.
///
/// Baseline and generation each follow an unmeasured run of their kind. A virtual machine gives memory that is free for
/// some seconds back to its host, and whoever asks for memory next pays for getting it again: two seconds a
/// gigabyte have been seen, which would fall on whatever happens to run first.
fn measure_scale(dir: &Path, scale: Scale, rounds: usize, layout: Layout) -> io::Result<Measured> {
    let repo = &dir.join("repo");
    let size = write_repo(repo, scale, layout)?;
    let overlays = repo.join("overlays");
    let (mut baselines, mut generates, mut checks) = (Vec::new(), Vec::new(), Vec::new());
    let (mut capacities, mut drains) = (Vec::new(), Vec::new());
    for round in 0..rounds {
        measure::baseline(repo)?;
        baselines.push(measure::baseline(repo)?);
        generate_anew(repo, &overlays, &dir.join(format!("unmeasured-{round}")))?;
        generates.push(generate_anew(repo, &overlays, &dir.join(format!("measured-{round}")))?);
        checks.push(measure::sipgen(repo, &["generate", "--check"])?);
        capacities.push(measure::sipgen(repo, &["capacity"])?);
        drains.push(measure::sipgen(repo, &["drain", "rack=rack-0001"])?);
    }
    Ok(Measured {
        scale,
        inventory_bytes: size.inventory_bytes,
        baseline: median(baselines),
        generate: median_run(&generates),
        check: median_run(&checks),
        capacity: median_run(&capacities),
        drain: median_run(&drains),
        files_written: files_below(&overlays)?.len(),
    })
}

/// Runs the first generation, as often as wanted. What an earlier one wrote is moved `aside`, not deleted: for some
/// minutes, ext4 passes over every inode that was freed before it finds one for a new file, which makes creating
/// ten thousand of them take twice as long as the whole rest.
fn generate_anew(repo: &Path, overlays: &Path, aside: &Path) -> io::Result<Run> {
    if overlays.exists() {
        fs::rename(overlays, aside)?;
    }
    measure::sipgen(repo, &["generate"])
}

/// Writes a site as a git repo of its own, so that sipgen looks for none further up.
fn write_repo(dir: &Path, scale: Scale, layout: Layout) -> io::Result<SiteSize> {
    let size = write_site(dir, scale, layout)?;
    git2::Repository::init(dir).map_err(io::Error::other)?;
    Ok(size)
}

fn median<T: Ord + Copy>(mut values: Vec<T>) -> T {
    values.sort_unstable();
    values[values.len() / 2]
}

/// The median of times and, apart from it, that of peaks.
fn median_run(runs: &[Run]) -> Run {
    Run {
        wall: median(runs.iter().map(|run| run.wall).collect()),
        peak_bytes: median(runs.iter().map(|run| run.peak_bytes).collect()),
    }
}

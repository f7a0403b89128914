//! Schedules of CronJobs, as `robfig/cron` reads them: what it says of those that it cannot read.

/// A field of a schedule: its range, and names for its numbers.
struct Bounds {
    least: u32,
    most: u32,
    names: &'static [&'static str],
}

const FIELDS: [Bounds; 5] = [
    Bounds { least: 0, most: 59, names: &[] },
    Bounds { least: 0, most: 23, names: &[] },
    Bounds { least: 1, most: 31, names: &[] },
    Bounds { least: 1, most: 12, names: &["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"] },
    Bounds { least: 0, most: 6, names: &["sun", "mon", "tue", "wed", "thu", "fri", "sat"] },
];

/// Whether a schedule can be read.
///
/// # Errors
///
/// What is wrong with it.
pub(super) fn check(schedule: &str) -> Result<(), String> {
    let mut rest = schedule;
    if rest.starts_with("TZ=") || rest.starts_with("CRON_TZ=") {
        rest = rest.split_once(' ').map_or("", |(_, rest)| rest.trim());
    }
    if let Some(descriptor) = rest.strip_prefix('@') {
        return descriptor_is_known(rest, descriptor);
    }
    let fields: Vec<&str> = rest.split_whitespace().collect();
    if fields.len() != FIELDS.len() {
        let shown: Vec<String> = fields.iter().map(ToString::to_string).collect();
        return Err(format!("expected exactly 5 fields, found {}: [{}]", fields.len(), shown.join(" ")));
    }
    for (field, bounds) in fields.into_iter().zip(&FIELDS) {
        for range in field.split(',').filter(|range| !range.is_empty()) {
            check_range(range, bounds)?;
        }
    }
    Ok(())
}

fn descriptor_is_known(whole: &str, descriptor: &str) -> Result<(), String> {
    if matches!(descriptor, "yearly" | "annually" | "monthly" | "weekly" | "daily" | "midnight" | "hourly") {
        return Ok(());
    }
    match descriptor.strip_prefix("every ") {
        Some(duration) if is_duration(duration) => Ok(()),
        Some(duration) => Err(format!("failed to parse duration {whole}: time: invalid duration {duration:?}")),
        None => Err(format!("unrecognized descriptor: {whole}")),
    }
}

/// Whether Go would read it as a duration.
fn is_duration(text: &str) -> bool {
    let mut rest = text.strip_prefix(['-', '+']).unwrap_or(text);
    if rest == "0" {
        return true;
    }
    let mut parts = 0;
    while !rest.is_empty() {
        let digits = rest.trim_start_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
        let unit = ["ns", "us", "µs", "ms", "s", "m", "h"].into_iter().find_map(|unit| digits.strip_prefix(unit));
        match unit {
            Some(after) if digits.len() < rest.len() => rest = after,
            _ => return false,
        }
        parts += 1;
    }
    parts > 0
}

fn check_range(range: &str, bounds: &Bounds) -> Result<(), String> {
    let mut steps = range.split('/');
    let span = steps.next().unwrap_or_default();
    let mut ends = span.split('-');
    let low = ends.next().unwrap_or_default();
    let (start, mut end) = if matches!(low, "*" | "?") {
        (bounds.least, bounds.most)
    } else {
        let start = number(low, bounds)?;
        let end = ends.next().map(|high| number(high, bounds)).transpose()?;
        if ends.next().is_some() {
            return Err(format!("too many hyphens: {range}"));
        }
        (start, end.unwrap_or(start))
    };
    if let Some(step) = steps.next() {
        let step = plain_number(step)?;
        if !span.contains('-') && !matches!(low, "*" | "?") {
            end = bounds.most;
        }
        if steps.next().is_some() {
            return Err(format!("too many slashes: {range}"));
        }
        if step == 0 {
            return Err(format!("step of range should be a positive number: {range}"));
        }
    }
    if start < bounds.least {
        return Err(format!("beginning of range ({start}) below minimum ({}): {range}", bounds.least));
    }
    if end > bounds.most {
        return Err(format!("end of range ({end}) above maximum ({}): {range}", bounds.most));
    }
    if start > end {
        return Err(format!("beginning of range ({start}) beyond end of range ({end}): {range}"));
    }
    Ok(())
}

fn number(text: &str, bounds: &Bounds) -> Result<u32, String> {
    let lower = text.to_ascii_lowercase();
    match bounds.names.iter().position(|name| *name == lower) {
        Some(index) => Ok(bounds.least.saturating_add(u32::try_from(index).unwrap_or_default())),
        None => plain_number(text),
    }
}

fn plain_number(text: &str) -> Result<u32, String> {
    match text.parse::<i64>() {
        Ok(number) => u32::try_from(number).map_err(|_| format!("negative number ({number}) not allowed: {text}")),
        Err(_) => Err(format!("failed to parse int from {text}: strconv.Atoi: parsing {text:?}: invalid syntax")),
    }
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn schedules_are_judged_as_the_library_does() {
        for good in [
            "* * * * *",
            "*/5 0-6 1,15 jan-MAR ?",
            "@hourly",
            "@every 1h30m",
            "0 0 * * SUN",
            "TZ=UTC 0 0 * * *",
            "5/15 * * * *",
        ] {
            assert_eq!(check(good), Ok(()), "{good}");
        }
        let bad = [
            ("* * * *", "expected exactly 5 fields, found 4: [* * * *]"),
            ("60 * * * *", "end of range (60) above maximum (59): 60"),
            ("* * 0 * *", "beginning of range (0) below minimum (1): 0"),
            ("x * * * *", "failed to parse int from x: strconv.Atoi: parsing \"x\": invalid syntax"),
            ("5-1 * * * *", "beginning of range (5) beyond end of range (1): 5-1"),
            ("*/0 * * * *", "step of range should be a positive number: */0"),
            ("@never", "unrecognized descriptor: @never"),
        ];
        for (schedule, error) in bad {
            assert_eq!(check(schedule), Err(error.to_owned()), "{schedule}");
        }
    }
}

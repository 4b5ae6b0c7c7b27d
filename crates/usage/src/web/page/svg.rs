//! Bars over days: where each stands, in percent of a drawing that is as wide as the page. Pure.
//!
//! What is wanted goes up, what is not goes down, both on one scale. Not here: how it looks (`style.css`).

use std::fmt::{self, Write as _};

use super::format::count;

/// More days are drawn by week.
const MAX_BARS: usize = 100;
/// Of the space of a bar.
const BAR_SHARE: f64 = 0.78;
/// Below the bars.
const MAX_DATES: usize = 4;

/// One day.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ChartPoint {
    /// Which.
    pub(super) date: String,
    /// What goes up.
    pub(super) up: u64,
    /// What goes down.
    pub(super) down: u64,
}

/// What the bars are.
#[derive(Debug, Clone, Copy)]
pub(super) struct ChartNames {
    pub(super) title: &'static str,
    pub(super) up: &'static str,
    pub(super) down: &'static str,
}

/// A part of the drawing's width or height.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct SvgShare(f64);

impl fmt::Display for SvgShare {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.2}%", self.0 * 100.0)
    }
}

/// A drawing.
#[derive(Debug, Default)]
pub(super) struct Chart {
    pub(super) title: &'static str,
    pub(super) description: String,
    pub(super) up_name: &'static str,
    pub(super) down_name: &'static str,
    pub(super) ticks: Vec<ChartTick>,
    pub(super) bars: Vec<ChartBar>,
    pub(super) dates: Vec<String>,
    /// Where nothing is.
    pub(super) zero: SvgShare,
    pub(super) has_down: bool,
    pub(super) has_open: bool,
    pub(super) weeks: bool,
}

/// A line across, with its number.
#[derive(Debug)]
pub(super) struct ChartTick {
    pub(super) y: SvgShare,
    pub(super) label: String,
    pub(super) is_zero: bool,
    /// How far the number is moved so that it is not cut.
    pub(super) shift: &'static str,
}

/// A day or a week.
#[derive(Debug)]
pub(super) struct ChartBar {
    pub(super) slot_x: SvgShare,
    pub(super) slot_width: SvgShare,
    pub(super) x: SvgShare,
    pub(super) width: SvgShare,
    pub(super) y: SvgShare,
    pub(super) up: Option<u64>,
    pub(super) up_height: SvgShare,
    pub(super) down: Option<u64>,
    pub(super) down_height: SvgShare,
    pub(super) title: String,
    /// Whether it is not over.
    pub(super) open: bool,
}

impl Chart {
    /// Draws days in order; the last may not be over.
    pub(super) fn of(days: &[ChartPoint], unfinished: bool, names: ChartNames) -> Self {
        let weeks = days.len() > MAX_BARS;
        let points = if weeks { by_week(days) } else { days.to_vec() };
        let most = |of: fn(&ChartPoint) -> u64| points.iter().map(of).max().unwrap_or(0);
        let (top, bottom) = (most(|point| point.up), most(|point| point.down));
        let step = step(top.max(bottom));
        let (above, below) = (top.div_ceil(step).max(1), bottom.div_ceil(step));
        let scale = ChartScale { step, above, below };
        let last = points.len().saturating_sub(1);
        let bars: Vec<ChartBar> = points
            .iter()
            .enumerate()
            .map(|(at, point)| {
                scale.bar(at, points.len(), point, unfinished && at == last, names, weeks)
            })
            .collect();
        Self {
            title: names.title,
            description: described(days, names),
            up_name: names.up,
            down_name: names.down,
            ticks: scale.ticks(),
            dates: dates(&points),
            zero: scale.height(above * step),
            has_down: bottom > 0,
            has_open: bars.iter().any(|bar| bar.open),
            bars,
            weeks,
        }
    }
}

/// Lines across, so many steps above and below nothing.
struct ChartScale {
    step: u64,
    above: u64,
    below: u64,
}

impl ChartScale {
    #[expect(clippy::cast_precision_loss, reason = "a pixel is shown")]
    fn height(&self, n: u64) -> SvgShare {
        SvgShare(n as f64 / ((self.above + self.below) * self.step).max(1) as f64)
    }

    fn ticks(&self) -> Vec<ChartTick> {
        let all = self.above + self.below;
        let tick = |line: u64| ChartTick {
            y: self.height(line * self.step),
            label: count(self.above.abs_diff(line) * self.step),
            is_zero: line == self.above,
            shift: match line {
                0 => "0.8em",
                _ if line == all => "-0.1em",
                _ => "0.35em",
            },
        };
        (0..=all).map(tick).collect()
    }

    #[expect(clippy::cast_precision_loss, reason = "a pixel is shown")]
    fn bar(
        &self,
        at: usize,
        of: usize,
        point: &ChartPoint,
        open: bool,
        names: ChartNames,
        week: bool,
    ) -> ChartBar {
        let slot = 1.0 / of.max(1) as f64;
        let x = at as f64 * slot;
        let up_height = self.height(point.up);
        let which = if week { format!("week of {}", point.date) } else { point.date.clone() };
        let title = format!(
            "{which}{}: {} {}, {} {}",
            if open { ", not over" } else { "" },
            count(point.up),
            names.up.to_lowercase(),
            count(point.down),
            names.down.to_lowercase()
        );
        ChartBar {
            slot_x: SvgShare(x),
            slot_width: SvgShare(slot),
            x: SvgShare(x + slot * (1.0 - BAR_SHARE) / 2.0),
            width: SvgShare(slot * BAR_SHARE),
            y: SvgShare(self.height(self.above * self.step).0 - up_height.0),
            up: Some(point.up).filter(|up| *up > 0),
            up_height,
            down: Some(point.down).filter(|down| *down > 0),
            down_height: self.height(point.down),
            title,
            open,
        }
    }
}

/// Whole weeks, the last one ending with the last day.
fn by_week(days: &[ChartPoint]) -> Vec<ChartPoint> {
    let sum = |week: &[ChartPoint]| ChartPoint {
        date: week.first().map(|day| day.date.clone()).unwrap_or_default(),
        up: week.iter().map(|day| day.up).sum(),
        down: week.iter().map(|day| day.down).sum(),
    };
    let mut weeks: Vec<ChartPoint> = days.rchunks(7).map(sum).collect();
    weeks.reverse();
    weeks
}

/// A round number of which two or three make `most`.
fn step(most: u64) -> u64 {
    let mut size = 1_u64;
    loop {
        let steps = [1_u64, 2, 5].map(|n| n.saturating_mul(size));
        if let Some(step) = steps.into_iter().find(|step| step.saturating_mul(3) >= most) {
            return step;
        }
        size = size.saturating_mul(10);
    }
}

fn dates(points: &[ChartPoint]) -> Vec<String> {
    let last = points.len().saturating_sub(1);
    let parts = MAX_DATES.min(points.len()).saturating_sub(1).max(1);
    let mut places: Vec<usize> = (0..=parts).map(|at| at * last / parts).collect();
    places.dedup();
    places.iter().filter_map(|at| points.get(*at)).map(|point| point.date.clone()).collect()
}

fn described(days: &[ChartPoint], names: ChartNames) -> String {
    let sum = |of: fn(&ChartPoint) -> u64| days.iter().map(of).sum::<u64>();
    let (up, down) = (sum(|day| day.up), sum(|day| day.down));
    let mut text = format!(
        "{} days: {} {}, {} {}.",
        days.len(),
        count(up),
        names.up.to_lowercase(),
        count(down),
        names.down.to_lowercase()
    );
    if let Some(best) = days.iter().max_by_key(|day| day.up).filter(|day| day.up > 0) {
        let _ = write!(text, " Most on {}: {}.", best.date, count(best.up));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: ChartNames = ChartNames { title: "Usage", up: "Served", down: "Not found" };

    fn points(of: &[(u64, u64)]) -> Vec<ChartPoint> {
        let point = |(day, (up, down)): (usize, &(u64, u64))| ChartPoint {
            date: format!("day {day}"),
            up: *up,
            down: *down,
        };
        of.iter().enumerate().map(point).collect()
    }

    #[test]
    fn bars_go_up_and_down_on_one_scale() {
        let chart = Chart::of(&points(&[(30, 10), (15, 0)]), true, NAMES);
        assert_eq!(
            chart.ticks.iter().map(|tick| tick.label.as_str()).collect::<Vec<_>>(),
            ["30", "20", "10", "0", "10"]
        );
        assert_eq!(chart.zero.to_string(), "75.00%");
        let [first, second] = &chart.bars[..] else { panic!("two bars") };
        assert_eq!(
            (first.y.to_string(), first.up_height.to_string()),
            ("0.00%".into(), "75.00%".into())
        );
        assert_eq!(first.down_height.to_string(), "25.00%");
        assert_eq!((second.down, second.open, first.open), (None, true, false));
        assert_eq!(second.title, "day 1, not over: 15 served, 0 not found");
        assert_eq!(chart.description, "2 days: 45 served, 10 not found. Most on day 0: 30.");
    }

    #[test]
    fn nothing_is_drawn_as_nothing() {
        for days in [vec![], points(&[(0, 0)])] {
            let chart = Chart::of(&days, false, NAMES);
            assert!(chart.bars.iter().all(|bar| bar.up.is_none() && bar.down.is_none()));
            assert!(chart.bars.iter().all(|bar| bar.y.0.is_finite()));
        }
    }

    #[test]
    fn a_year_is_drawn_by_week_and_nothing_is_lost() {
        let chart = Chart::of(&points(&vec![(1, 1); 365]), true, NAMES);
        assert!(chart.weeks);
        assert_eq!(chart.bars.len(), 53);
        assert_eq!(chart.bars.iter().filter_map(|bar| bar.up).sum::<u64>(), 365);
        assert!(chart.bars.iter().all(|bar| bar.x.0 + bar.width.0 <= 1.0));
    }

    #[test]
    fn a_step_is_round_and_few_of_them_suffice() {
        for most in [0, 1, 3, 4, 7, 99, 1_234, u64::MAX / 4] {
            let step = step(most);
            assert!(step >= 1 && step * 3 >= most, "{most}: {step}");
        }
        assert_eq!([1, 4, 16, 1_000].map(step), [1, 2, 10, 500]);
    }
}

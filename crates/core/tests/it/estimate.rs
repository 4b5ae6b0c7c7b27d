//! The estimate of tokens against a real tokeniser, o200k, on texts written for this test: the estimate's
//! constants were fitted to other ones.

use proptest::prelude::*;
use skills_core::estimate;

/// Per cent that the estimate of a class of texts may be off by, and of a single one.
const CLASS: usize = 15;
const SINGLE: usize = 25;

/// Compares every text of a class, and all of them together, with what the tokeniser counts.
fn assert_close(class: &[&str]) {
    let bpe = tiktoken_rs::o200k_base_singleton();
    let mut estimated = 0;
    let mut counted = 0;
    for text in class {
        let length = text.chars().count();
        assert!((300..=1_500).contains(&length), "{length} characters: {text}");
        let (estimate, count) = (estimate::tokens(text), bpe.encode_ordinary(text).len());
        assert!(is_within(SINGLE, estimate, count), "{estimate} for {count} tokens: {text}");
        estimated += estimate;
        counted += count;
    }
    assert!(is_within(CLASS, estimated, counted), "{estimated} for {counted} tokens in all");
}

fn is_within(per_cent: usize, estimate: usize, count: usize) -> bool {
    estimate.abs_diff(count) * 100 <= count * per_cent
}

const ENGLISH: &[&str] = &[
    "The lighthouse keeper had not expected visitors before spring, so when somebody knocked he \
spilled half his tea across the logbook. Outside stood a girl of perhaps twelve, soaked to the knees, \
holding a birdcage wrapped in oilcloth. She explained, without being asked, that the ferry had turned \
back and that her uncle would pay for a night's lodging whenever the post resumed. He didn't believe a \
word of it, but the wind was rising and the stairs were warm, and besides, it had been eleven weeks since \
he'd heard a voice that wasn't crackling through the wireless.",
    "A cache that nobody can explain is worse than none. Before adding one, measure how often the same \
question is asked, how long an answer stays true, and what happens to a customer who is shown yesterday's \
answer. If the third point makes you uncomfortable, write down who is allowed to invalidate an entry and \
how quickly that has to be visible everywhere. Only then choose a size, an eviction policy and a place to \
keep it. Most performance problems we have investigated over the last two years turned out to be a missing \
index or a request made inside a loop; in those cases a cache would merely have hidden the mistake until \
the traffic doubled.",
    "Photosynthesis converts sunlight, water and carbon dioxide into glucose and oxygen. In the first \
stage, pigments embedded in the thylakoid membranes absorb photons and pass excited electrons along a chain \
of proteins, pumping hydrogen ions as they go; the resulting gradient drives an enzyme that manufactures \
adenosine triphosphate. In the second stage, which needs no light of its own, the plant spends that energy \
to attach carbon to existing sugars. Temperature, humidity and the concentration of carbon dioxide all \
limit the rate, and desert species have evolved remarkable ways of postponing part of the work until night.",
];

#[test]
fn english() {
    assert_close(ENGLISH);
}

const FRENCH: &[&str] = &[
    "Le vieux libraire rangeait ses atlas par ordre de tristesse, disait-il en souriant, et personne \
n'osait lui demander ce que cela signifiait. Un soir de novembre, une cliente entra pour se protéger de la \
pluie ; elle portait un manteau trop léger et cherchait, prétendait-elle, une carte des chemins de fer \
d'avant-guerre. Il grimpa sur l'escabeau, souffla sur la poussière et déplia devant elle une feuille si \
fragile qu'on voyait la lampe au travers. Ils restèrent longtemps silencieux, à suivre du doigt des lignes \
qui n'existaient plus, jusqu'à ce que l'horloge de l'église sonnât huit heures.",
    "Avant de publier une nouvelle version, vérifiez que tous les tests passent sur les trois systèmes \
pris en charge et que le journal des modifications décrit chaque changement visible. Une option retirée \
doit rester acceptée pendant au moins deux versions mineures, avec un avertissement qui indique par quoi la \
remplacer. Les fichiers de configuration des utilisateurs ne sont jamais réécrits sans leur accord : le \
programme affiche la différence, puis attend une confirmation. Si la mise à jour échoue en cours de route, \
l'état précédent est rétabli et le message d'erreur précise à quelle étape le problème est survenu.",
    "L'Union européenne souhaite réduire de moitié l'usage des pesticides d'ici à la fin de la décennie, \
mais les agriculteurs redoutent une baisse des rendements et une concurrence accrue des importations. Dans \
la vallée, plusieurs exploitations ont déjà remplacé les traitements chimiques par des haies, des bandes \
fleuries et des rotations plus longues. Les premiers résultats sont encourageants : les coccinelles \
reviennent, les sols retiennent mieux l'eau, et la qualité des céréales n'a pas souffert. Reste la question \
du prix, car le travail supplémentaire n'est que partiellement compensé par les aides publiques.",
];

#[test]
fn french() {
    assert_close(FRENCH);
}

const CHINESE: &[&str] = &[
    "火车在山谷里走了一整夜，天亮的时候终于停在一个没有名字的小站。站台上只有一位穿蓝色大衣的老人，手里提着一只\
旧皮箱，像是在等人，又像是刚刚送走了谁。我下车买水，他忽然开口问我，南方的梅花开了没有。我说我离开的时候还下着雪，\
他点点头，好像这个回答早在他的意料之中。后来他告诉我，三十年前他的妻子就是从这里上的车，说好春天回来，可是那一年的\
春天一直没有来。我不知道应该说什么，只好陪他站着。汽笛响了，乘务员在门口催促，我跳上车，回头看见他把皮箱放在地上，\
慢慢坐了下来。窗外的田野一片一片地往后退，远处的村庄升起了炊烟，孩子们沿着河岸奔跑，朝着列车挥手。我忽然很想给家里\
写一封信，告诉母亲我一切都好，天气转暖了，请她不要再为我担心，也不要每天晚上都把门口的灯留到那么晚。",
    "编写技能文档的时候，请先说明它适用的场景，再给出具体的步骤。每一个步骤都应该能够单独验证，如果需要运行命令，\
请把完整的命令写出来，并说明成功时会看到什么结果。不要假设读者已经安装了所有的依赖，也不要省略环境变量的设置方法。当\
操作可能删除数据或者影响线上服务时，必须在前面加上明显的提示，并且提供恢复的办法。文档的长度要适中，内容太多会占用模型\
的上下文，内容太少又无法指导实际的工作。建议把公共的规则放在上一级目录，把细节放在具体的技能里面，这样修改的时候只需要\
更新一个地方。最后，请使用真实的任务进行测试，观察模型是否会在正确的时候选择这个技能，如果它经常被忽略，通常是因为描述\
不够清楚，而不是因为内容本身有问题。测试通过以后，再把文件提交到代码仓库，由另外一位同事进行审查。",
    "近年来，随着人口老龄化程度不断加深，社区养老服务受到社会各界的广泛关注。记者在走访中了解到，不少街道利用闲置的\
厂房和学校改建成日间照料中心，为老年人提供午餐、理发、康复训练以及心理咨询等服务。七十八岁的陈女士告诉记者，自从家门口\
有了这样的中心，她每天上午来学书法，中午和老朋友一起吃饭，子女上班也放心多了。不过，从业人员短缺仍然是一个突出的问题，\
护理工作强度大、收入不高，年轻人往往干不了多久就离开。有专家建议，一方面应当提高护理人员的待遇，完善职业培训体系；另一\
方面可以鼓励志愿者和低龄老人参与服务，探索互助养老的新模式。有关部门表示，今后三年将继续增加财政投入，力争使百分之九十\
以上的城市社区具备基本的养老服务能力，并逐步向农村地区延伸，让更多的老年人能够安度晚年。",
];

#[test]
fn chinese() {
    assert_close(CHINESE);
}

const CODE: &[&str] = &[
    r#"/// Keeps the newest entries and forgets the rest.
pub struct Ring<T> {
    slots: Vec<Option<T>>,
    next: usize,
}

impl<T: Clone> Ring<T> {
    pub fn with_capacity(capacity: usize) -> Self {
        assert!(capacity > 0, "a ring needs at least one slot");
        Self { slots: vec![None; capacity], next: 0 }
    }

    pub fn push(&mut self, value: T) -> Option<T> {
        let slot = &mut self.slots[self.next % self.slots.len()];
        self.next = self.next.wrapping_add(1);
        slot.replace(value)
    }

    pub fn iter(&self) -> impl Iterator<Item = &T> + '_ {
        let (older, newer) = self.slots.split_at(self.next % self.slots.len());
        newer.iter().chain(older).filter_map(Option::as_ref)
    }
}
"#,
    r#"import { useEffect, useState } from "react";
import type { Invoice } from "../billing/types";

interface Props {
  customerId: string;
  onSelect?: (invoice: Invoice) => void;
}

export function InvoiceList({ customerId, onSelect }: Props) {
  const [invoices, setInvoices] = useState<Invoice[]>([]);
  const [error, setError] = useState<string | null>(null);

  useEffect(() => {
    const controller = new AbortController();
    fetch(`/api/customers/${customerId}/invoices`, { signal: controller.signal })
      .then((response) => response.json())
      .then(setInvoices)
      .catch((reason) => !controller.signal.aborted && setError(String(reason)));
    return () => controller.abort();
  }, [customerId]);

  if (error !== null) return <p role="alert">{error}</p>;
  return (
    <ul className="invoice-list">
      {invoices.map((invoice) => (
        <li key={invoice.id} onClick={() => onSelect?.(invoice)}>
          {invoice.number}: {invoice.total.toFixed(2)} €
        </li>
      ))}
    </ul>
  );
}
"#,
    r#"from __future__ import annotations

import csv
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Station:
    name: str
    readings: list[float] = field(default_factory=list)

    @property
    def mean(self) -> float | None:
        """The average temperature, or None where nothing was measured."""
        return sum(self.readings) / len(self.readings) if self.readings else None


def load(path: Path, *, delimiter: str = ";") -> dict[str, Station]:
    stations: dict[str, Station] = {}
    skipped = defaultdict(int)
    with path.open(newline="", encoding="utf-8") as handle:
        for row in csv.DictReader(handle, delimiter=delimiter):
            try:
                value = float(row["temp_c"].replace(",", "."))
            except (KeyError, ValueError) as err:
                skipped[type(err).__name__] += 1
                continue
            stations.setdefault(row["station"], Station(row["station"])).readings.append(value)
    if skipped:
        print(f"skipped {sum(skipped.values())} rows: {dict(skipped)}")
    return stations
"#,
    r#"#!/usr/bin/env bash
# Takes a nightly copy of the database and drops the ones that are too old.
set -euo pipefail

: "${PGHOST:=localhost}"
: "${BACKUP_DIR:=/var/backups/postgres}"
KEEP_DAYS=14
stamp="$(date -u +%Y%m%dT%H%M%SZ)"

log() { printf '%s %s\n' "$(date -u +%H:%M:%S)" "$*" >&2; }

mkdir -p "$BACKUP_DIR"
for db in $(psql -h "$PGHOST" -Atc "SELECT datname FROM pg_database WHERE NOT datistemplate"); do
    target="$BACKUP_DIR/${db}-${stamp}.dump"
    log "dumping $db"
    if ! pg_dump -h "$PGHOST" --format=custom --file "$target.part" "$db"; then
        log "failed: $db"
        rm -f -- "$target.part"
        exit 1
    fi
    mv -- "$target.part" "$target"
done

find "$BACKUP_DIR" -name '*.dump' -mtime +"$KEEP_DAYS" -print -delete | wc -l
"#,
    r#"name: release
on:
  push:
    tags: ["v*.*.*"]
permissions:
  contents: write
jobs:
  build:
    strategy:
      fail-fast: false
      matrix:
        include:
          - os: ubuntu-24.04
            target: x86_64-unknown-linux-musl
          - os: macos-15
            target: aarch64-apple-darwin
    runs-on: ${{ matrix.os }}
    timeout-minutes: 30
    steps:
      - uses: actions/checkout@v5
        with:
          fetch-depth: 0
      - name: Install the toolchain
        run: rustup toolchain install stable --profile minimal --target ${{ matrix.target }}
      - name: Build
        run: cargo build --locked --release --target ${{ matrix.target }}
      - uses: actions/upload-artifact@v4
        with:
          name: binary-${{ matrix.target }}
          path: target/${{ matrix.target }}/release/tool
          if-no-files-found: error
"#,
    "package queue\n\nimport (\n\t\"context\"\n\t\"errors\"\n\t\"sync\"\n\t\"time\"\n)\n\n\
var ErrClosed = errors.New(\"queue: closed\")\n\n\
// Worker runs jobs one after another until its context ends.\ntype Worker struct {\n\
\tmu      sync.Mutex\n\tpending []func(context.Context) error\n\tidle    time.Duration\n\tclosed  bool\n}\n\n\
func (w *Worker) Submit(job func(context.Context) error) error {\n\tw.mu.Lock()\n\tdefer w.mu.Unlock()\n\
\tif w.closed {\n\t\treturn ErrClosed\n\t}\n\tw.pending = append(w.pending, job)\n\treturn nil\n}\n\n\
func (w *Worker) Run(ctx context.Context) error {\n\tticker := time.NewTicker(w.idle)\n\
\tdefer ticker.Stop()\n\tfor {\n\t\tselect {\n\t\tcase <-ctx.Done():\n\t\t\treturn ctx.Err()\n\
\t\tcase <-ticker.C:\n\t\t\tif err := w.drain(ctx); err != nil {\n\t\t\t\treturn err\n\t\t\t}\n\t\t}\n\t}\n}\n",
];

#[test]
fn code() {
    assert_close(CODE);
}

const MARKDOWN: &[&str] = &[
    r"# Reviewing a migration

Use this skill when a pull request touches `db/migrations/`.

## Checklist

1. **Locking.** Does any statement take an `ACCESS EXCLUSIVE` lock on a large table?
   - Adding a column with a constant default is fine since PostgreSQL 11.
   - Building an index is not, unless it says `CONCURRENTLY`.
2. **Rollback.** Is there a `down.sql`, and was it run at least once?
3. **Order.** Code that reads the new column ships *after* the migration, never before.

> If two migrations share a timestamp, rename the later one.

See also [the runbook](../ops/runbook.md#slow-migrations) and `bin/migrate --help`.
",
    r"## Status codes

| Code | Meaning              | Retry? | What the client does                      |
|------|----------------------|:------:|-------------------------------------------|
| 200  | Success              |   –    | Use the body                              |
| 202  | Accepted, not done   |   ✅   | Poll `Location` every 5 s                 |
| 401  | Token missing or old |   ❌   | Ask the user to sign in again             |
| 409  | Version conflict     |   ❌   | Reload, merge, show the difference        |
| 429  | Too many requests    |   ✅   | Wait for `Retry-After`, then double it    |
| 503  | Maintenance          |   ✅   | Show the banner; retry after 60 s         |

### Notes

* Bodies are JSON (`application/problem+json`) for every code ≥ 400.
* `request_id` is always present — quote it in bug reports.
",
    r"---
name: screenshots
keywords: [screenshot, playwright, visual regression]
description: How to take and compare screenshots of the web app
---

# Screenshots

Start the preview server first, then run the suite:

```bash
npm run build && npm run preview -- --port 4173 &
npx playwright test tests/visual --update-snapshots
```

- Freeze the clock with `page.clock.setFixedTime(...)`; dates are the usual reason for noise.
- Hide carets and animations:

```css
* { animation: none !important; caret-color: transparent !important; }
```

Differences above **0.2 %** fail. Commit the new images only after a person has refreshed at them.
",
];

#[test]
fn markdown() {
    assert_close(MARKDOWN);
}

const JSON: &[&str] = &[
    concat!(
        r#"{"tools":[{"name":"find_booking","title":"Find a booking","description":"Looks up a booking by its "#,
        r#"reference or by the guest's surname and arrival date.","inputSchema":{"type":"object","properties":"#,
        r#"{"reference":{"type":"string","pattern":"^[A-Z]{2}[0-9]{6}$","description":"Two letters and six "#,
        r#"digits"},"surname":{"type":"string","minLength":2},"arrival":{"type":"string","format":"date"},"#,
        r#""include_cancelled":{"type":"boolean","default":false}},"additionalProperties":false},"annotations":"#,
        r#"{"readOnlyHint":true,"openWorldHint":false}},{"name":"move_booking","description":"Moves a booking "#,
        r#"to another room.","inputSchema":{"type":"object","properties":{"reference":{"type":"string"},"#,
        r#""room":{"type":"integer","minimum":1,"maximum":412}},"required":["reference","room"]},"#,
        r#""annotations":{"destructiveHint":true,"idempotentHint":true}}]}"#,
    ),
    r#"{
  "name": "harbour-web",
  "version": "3.14.2",
  "private": true,
  "type": "module",
  "scripts": {
    "dev": "vite --host 0.0.0.0",
    "build": "tsc --noEmit && vite build",
    "test": "vitest run --coverage",
    "lint": "eslint . --max-warnings 0"
  },
  "dependencies": {
    "@tanstack/react-query": "^5.62.0",
    "react": "^19.0.0",
    "zod": "~3.24.1"
  },
  "devDependencies": {
    "@types/node": "22.10.5",
    "typescript": "5.7.3",
    "vite": "6.0.7"
  },
  "engines": { "node": ">=22" }
}
"#,
    concat!(
        r#"{"jsonrpc":"2.0","id":17,"result":{"content":[{"type":"text","text":"Three sensors did not report "#,
        r#"since midnight.\nThe gateway in hall B was restarted at 02:14."}],"structuredContent":{"sensors":"#,
        r#"[{"id":"b-031","last_seen":"2025-03-09T23:58:41Z","battery":0.87,"tags":["hall-b","humidity"]},"#,
        r#"{"id":"b-032","last_seen":"2025-03-09T23:59:02Z","battery":0.42,"tags":["hall-b"]},"#,
        r#"{"id":"c-104","last_seen":null,"battery":null,"tags":[]}],"gateway":{"address":"10.20.0.14","#,
        r#""uptime_s":35211,"firmware":"v1.8.0-rc2"},"next_cursor":"eyJvZmZzZXQiOjMwfQ=="},"isError":false}}"#,
    ),
];

#[test]
fn json() {
    assert_close(JSON);
}

proptest! {
    #[test]
    fn something_costs_something_and_more_never_costs_less(text in "[ -~\n\tÀ-ÿа-я一-龥가-힣—🦀]{1,80}") {
        let mut last = 0;
        for end in text.char_indices().map(|(start, c)| start + c.len_utf8()) {
            let now = estimate::tokens(text.get(..end).unwrap());
            prop_assert!(now >= last.max(1), "{now} after {last}");
            last = now;
        }
    }

    /// So that a text that is cut line by line stays within the budget its lines were counted against.
    #[test]
    fn lines_cost_no_less_apart_than_together(text in "[ -~\n\té一🦀]{0,120}") {
        let apart: usize = text.split_inclusive('\n').map(estimate::tokens).sum();
        prop_assert!(estimate::tokens(&text) <= apart);
    }
}

//! Trust in content, in one table: each key has one [`ContentPolicy`], each thing that content declares outside its
//! `config.yaml` one [`Declaration`]. `docs/trust.md` is made from both.
//!
//! Not here: the keys (`keys`), how a policy is applied (`content`), what is on record for a source (`consent`).

/// How far content is trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Trust {
    /// The operator named it, so its `config.yaml` applies (CONFIG-1).
    #[default]
    Named,
    /// It may tighten settings, never loosen them, and its links must stay inside.
    Strict,
}

/// What the `config.yaml` of a named directory or repository may do with a key. The operator's own files, variables and
/// flags override content for every key; agents' directories and plugins set nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContentPolicy {
    /// Content sets it at any time. A wrong value does no harm.
    Free,
    /// Content sets it at any time, up to the key's own maximum for content; under strict trust only to something narrower
    /// than the default.
    Limited,
    /// What the source says when it is first served holds. A later commit may narrow it, and the narrower value then
    /// holds; anything else waits for consent. Under strict trust only what is narrower than the default counts.
    Pinned,
    /// What the source says when it is first served holds, until the operator agrees to something else: a commit that
    /// changes it could keep its own correction from arriving. Under strict trust content does not set it.
    Fixed,
    /// Content never sets it.
    Operator,
}

impl ContentPolicy {
    /// Every policy, from the one that leaves content the most to the one that leaves it nothing.
    pub const ALL: [Self; 5] =
        [Self::Free, Self::Limited, Self::Pinned, Self::Fixed, Self::Operator];

    /// Its name, as the table has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Free => "free",
            Self::Limited => "limited",
            Self::Pinned => "pinned",
            Self::Fixed => "fixed",
            Self::Operator => "operator",
        }
    }

    /// When what content says applies.
    pub fn applies(self) -> &'static str {
        match self {
            Self::Free => "always, with the commit that says so",
            Self::Limited => {
                "always, with the commit that says so; a number above the one in the table counts as that one"
            }
            Self::Pinned => {
                "as first served; a later commit may narrow it, anything else waits for `skills-mcp trust`"
            }
            Self::Fixed => "as first served; any later change waits for `skills-mcp trust`",
            Self::Operator => "never",
        }
    }

    /// What `SKILLS_TRUST=strict` leaves of that.
    pub fn strict(self) -> &'static str {
        match self {
            Self::Free => "no change",
            Self::Limited | Self::Pinned => "only what is narrower than the default",
            Self::Fixed | Self::Operator => "never",
        }
    }

    /// Whether what a source says is put on record when it is first served.
    pub fn is_recorded(self) -> bool {
        matches!(self, Self::Pinned | Self::Fixed)
    }
}

/// Something that content decides outside its `config.yaml`.
#[derive(Debug)]
pub struct Declaration {
    /// What content writes, and where.
    pub what: &'static str,
    /// When it applies.
    pub applies: &'static str,
    /// What `SKILLS_TRUST=strict` changes.
    pub strict: &'static str,
    /// Who overrides it, and with what.
    pub overridden: &'static str,
}

/// What content decides in the front matter of a skill.
pub const DECLARATIONS: &[Declaration] = &[
    Declaration {
        what: "`execution: server` of a script",
        applies: "always; from a repository or plugin only where the sandbox confines files and system calls",
        strict: "no change",
        overridden: "you, with `scripts.enabled: false` or `scripts.sandbox: required`",
    },
    Declaration {
        what: "`network: true` of a script",
        applies: "while `scripts.network` is `declared`",
        strict: "`scripts.network` is `off`: the script runs without a network",
        overridden: "you, with `scripts.network`",
    },
    Declaration {
        what: "`env` of a script",
        applies: "for the variables that you list in `scripts.env`; the others are withheld, and the result names them",
        strict: "no change",
        overridden: "you, with `scripts.env`",
    },
    Declaration {
        what: "`args` of a script",
        applies: "always; an undeclared argument is refused",
        strict: "no change",
        overridden: "no setting: they are variables of that one script",
    },
];

//! What a finding is to its reader.

use strum::IntoStaticStr;

use crate::{
    finding::{Finding, Remedy, Verdict},
    witness::{Class, Witness},
};

/// What a finding is to its reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum Level {
    /// It goes wrong in an execution.
    Error,
    /// It cannot be excluded, and was not seen.
    Possible,
    /// The manual asks for it, and kernels run without it.
    Warning,
    /// It is right, and more than is needed, or wider.
    Note,
    NotChecked,
}

impl Level {
    /// That of a finding, of which an execution may have shown something. If that is of a launch whose number of threads in a CTA is
    /// made up, the launch is not known.
    pub fn of(finding: &Finding, shown: Option<Class>, is_launch_known: bool) -> Self {
        if shown.is_some() && !is_launch_known && finding.verdict != Verdict::Note {
            return Self::Possible;
        }
        match (finding.verdict, shown.filter(|_| is_launch_known)) {
            (Verdict::Wrong, Some(_)) | (_, Some(Class::Wrong)) => Self::Error,
            // The analysis says that nothing arrives, and an execution waits there.
            (_, Some(Class::Stuck)) if finding.rule.is_some() => Self::Error,
            (_, Some(Class::Stuck)) | (Verdict::Wrong, None) => Self::Possible,
            (Verdict::NotChecked, Some(_)) => Self::Warning,
            (Verdict::NotChecked, None) if finding.rule.is_some() => Self::Possible,
            (Verdict::NotChecked, None) => Self::NotChecked,
            (Verdict::Note, _) if finding.first.is_some() || finding.remedy.is_some() => Self::Warning,
            (Verdict::Note, _) => Self::Note,
        }
    }
}

impl Witness {
    /// What only this execution has found.
    pub fn finding(&self) -> Finding {
        let Witness { launch, class, found, .. } = self;
        let verdict = match class {
            Class::Wrong => Verdict::Wrong,
            Class::Stuck => Verdict::NotChecked,
            Class::Warning | Class::Plain => Verdict::Note,
        };
        Finding {
            first: found.other.as_ref().map(|site| site.at),
            lacks_fence: found.lacks_fence(),
            remedy: found
                .help
                .clone()
                .map(|help| Remedy { executed: Some(help.clone()), ..Remedy::words(help.to_string()) }),
            ..Finding::new(&launch.kernel, found.site.at, verdict, found.message.clone())
        }
    }
}

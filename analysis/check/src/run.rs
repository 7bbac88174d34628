//! The run of a check: each question about each kernel.

use std::collections::BTreeMap;

use ptx_isa::{Function, InstPlace, LaunchSize, Text, flat::Library};

use crate::{
    asynchronous,
    check::{Check, Launch},
    evidence::{Evidence, Looked, Open, Why},
    finding::{Finding, Site},
    order::Judged,
    parallel,
    question::Question,
    races,
    report::{Answer, KernelReport, NotAsked, Report, Verdict},
    rule::Rule,
    severity::Assessed,
};

impl Check<'_> {
    /// The report.
    pub fn run(&self) -> Report {
        let library = Library::new(self.ptx);
        let kernels: Vec<&Function> =
            self.ptx.functions().filter(|function| function.head.is_entry && self.is_asked(&function.name)).collect();
        let mut reports: Vec<KernelReport> = Vec::new();
        let most = kernels.iter().map(|function| self.launches_of(&function.name).len()).max().unwrap_or(0);
        for number in 0..most {
            let has_launch = |function: &&&Function| self.launches_of(&function.name).len() > number;
            let kernels: Vec<&Function> = kernels.iter().filter(has_launch).copied().collect();
            let more = self.in_launches(number, &library, &kernels);
            if number == 0 {
                reports = more;
                continue;
            }
            for report in more {
                let own = reports.iter_mut().find(|own| own.kernel == report.kernel);
                own.into_iter().for_each(|own| own.merge(report.clone()));
            }
        }
        if let Some(judged) = self.ir.filter(|_| self.questions.has(Question::Order)) {
            self.add_order(judged, &mut reports);
        }
        for report in &mut reports {
            report.answers.sort_by_key(|answer| answer.question);
            report.findings.sort_by_key(Finding::rank);
        }
        Report { kernels: reports }
    }

    /// The report of each kernel in its launch with this number, from 0.
    fn in_launches(&self, number: usize, library: &Library<'_>, kernels: &[&Function]) -> Vec<KernelReport> {
        let launch = |kernel: &str| {
            let own = self.launches_of(kernel).get(number).copied().cloned();
            own.unwrap_or_else(|| self.launch.clone())
        };
        let options = |kernel: &str| {
            let Launch { size, numbers, .. } = launch(kernel);
            let parameters = numbers.into_iter().map(|(name, number)| (name, number.cast_signed())).collect();
            ptx_hazards::HazardOptions { size, parameters }
        };
        let is_read = self.questions.has(Question::Async) || self.questions.has(Question::Barriers);
        let read = if is_read { ptx_hazards::read_each(self.ptx, options) } else { Vec::new() };
        let read: BTreeMap<&str, &ptx_hazards::Kernel> = read.iter().map(|kernel| (&*kernel.name, kernel)).collect();
        let of_kernel = |function: &&Function| {
            let check = Self { launch: launch(&function.name), ..self.clone() };
            check.of_kernel(library, function, read.get(&*function.name).copied())
        };
        parallel::map(kernels, self.jobs, of_kernel)
    }

    fn of_kernel(
        &self,
        library: &Library<'_>,
        function: &Function,
        read: Option<&ptx_hazards::Kernel>,
    ) -> KernelReport {
        let has_block = LaunchSize::from_head(&function.head).or(self.launch.size).block.is_some();
        let mut report = KernelReport {
            kernel: function.name.clone(),
            is_kernel: true,
            has_block: read.map_or(has_block, |kernel| kernel.has_block),
            answers: Vec::new(),
            findings: Vec::new(),
        };
        let asked = |question| self.questions.has(question);
        let not_asked = |question, why| Answer {
            question,
            verdict: Verdict::NotAsked(why),
            assumptions: Vec::new(),
            is_stopped: false,
            counts: (0, 0),
        };
        if function.body.is_none() {
            let questions = self.questions.iter().filter(|question| *question != Question::Order);
            report.answers = questions.map(|question| not_asked(question, NotAsked::Damaged)).collect();
            report.findings = vec![damaged(function)];
            return report;
        }
        // The proof does not follow `setmaxnreg` either.
        let changes_registers = read.is_some_and(|kernel| kernel.changes_registers);
        let is_asynchronous = changes_registers || ptx_races::is_asynchronous(library, function);
        let is_of_hazards = asked(Question::Async) || asked(Question::Barriers) && is_asynchronous;
        if let Some(kernel) = read.filter(|_| is_of_hazards) {
            let (answers, findings) = asynchronous::answers(self, function, kernel);
            report.answers.extend(answers);
            report.findings.extend(findings);
        }
        match asked(Question::Races) || asked(Question::Barriers) {
            true if is_asynchronous => {
                report.answers.push(not_asked(Question::Races, NotAsked::Asynchronous));
            }
            true => {
                let (answers, findings) = races::answers(self, library, function);
                // The proof has an answer about barriers, too.
                report.answers.retain(|answer| answer.question != Question::Barriers);
                report.answers.extend(answers);
                report.findings.extend(findings);
            }
            false => {}
        }
        report.answers.retain(|answer| asked(answer.question));
        // The check of asynchronous operations reports findings about their barriers.
        let is_async =
            |finding: &Finding| matches!(finding.rule, Some(Rule::Async(_)) | None) && asked(Question::Async);
        report.findings.retain(|finding| asked(finding.question) || is_async(finding) || finding.rule.is_none());
        report
    }

    /// Adds the answers about the order of each function.
    fn add_order(&self, judged: &Judged, reports: &mut Vec<KernelReport>) {
        for name in judged.functions().into_iter().filter(|name| self.is_asked(name)) {
            let (answer, findings) = judged.answer(name);
            match reports.iter_mut().find(|report| report.kernel == name) {
                Some(report) => {
                    report.answers.push(answer);
                    report.findings.extend(findings);
                }
                None => {
                    let (kernel, answers) = (name.to_owned(), vec![answer]);
                    reports.push(KernelReport { kernel, is_kernel: false, has_block: true, answers, findings });
                }
            }
        }
    }
}

/// The finding that a kernel with errors is not checked.
fn damaged(function: &Function) -> Finding {
    let Assessed { severity, is_tolerated } = Assessed::NOTE;
    Finding {
        question: Question::Async,
        rule: None,
        severity,
        is_tolerated,
        sites: vec![Site { at: InstPlace::default(), thread: None }],
        operation: None,
        message: Text::new(format!("not checked: kernel '{}', which has errors", function.name)),
        evidence: Evidence::Open(Open { why: Why::NotFollowed, looked: Looked::No }),
        remedy: None,
        explanation: None,
        allowed: None,
    }
}

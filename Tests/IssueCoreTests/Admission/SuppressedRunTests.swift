import IssueCore
import IssueProtocol
import Testing

struct SuppressedRunTests {
    private struct Series: Hashable {
        var group: GroupID
        var severity: IssueLevel
    }

    /// Processes records like the forwarder, with a run for each series of a group.
    private struct Runs {
        var admission: Admission
        var runs: [Series: SuppressedRun] = [:]
        var decisions: [AdmissionDecision] = []
        var drafts: [SummaryDraft] = []
        var taken = 0

        mutating func handle(_ candidate: AdmissionCandidate, at now: RecordLogInstant) {
            let series = Series(group: candidate.group, severity: candidate.severity)
            let isDue = admission.nextSummaryDue.map { $0 <= now } ?? false
            let isUsual = !candidate.isFirstOfGroup && candidate.isReportable && !candidate.isMuted
            if isUsual, !isDue, let run = runs[series], now < run.until {
                runs[series]?.add(candidate.record, count: candidate.count, at: now)
                taken += 1
                return decisions.append(.suppress(run.reason))
            }
            if isDue {
                end { _ in true }
                runs = [:]
                drafts += admission.dueSummaries(at: now)
            }
            end { $0.group == candidate.group }
            let decision = admission.evaluate(candidate, at: now)
            decisions.append(decision)
            switch decision {
            case .admit:
                // The counted records stay counted. The run gets no further records.
                end { $0.endsWithAdmission }
                runs = runs.filter { !$1.endsWithAdmission && $0.group != candidate.group }
            case .suppress(let reason):
                runs[series] = admission.makeRun(after: candidate, heldFor: reason, at: now)
            case .withhold: break
            }
        }

        mutating func end(_ isMeant: (SuppressedRun) -> Bool) {
            for (series, run) in runs where isMeant(run) {
                admission.count(run)
                runs[series] = run.emptied
            }
        }
    }

    @Test(
        "Evaluated in runs or singly, records get the same decisions and counts", arguments: 0..<12 as Range<UInt64>)
    func same(seed: UInt64) {
        var traffic = SeededGenerator(seed: seed)
        let log = traffic.log(records: 4000, groups: seed % 3 == 0 ? 4 : 60, accounts: 3)
        var settings = LimitSettings()
        settings.applicationBurst = seed % 2 == 0 ? 20 : 100
        settings.globalBurst = seed % 4 == 0 ? 30 : 300
        settings.globalRefill = Rate(seed % 4 == 0 ? 10 : 300, per: .seconds(60))

        var straight = Admission(settings: settings)
        var decisions: [AdmissionDecision] = []
        var drafts: [SummaryDraft] = []
        var runs = Runs(admission: Admission(settings: settings))
        for (candidate, now) in log {
            drafts += straight.dueSummaries(at: now)
            decisions.append(straight.evaluate(candidate, at: now))
            runs.handle(candidate, at: now)
        }
        runs.end { _ in true }
        #expect(runs.taken > 300)
        #expect(runs.decisions.map(\.reason) == decisions.map(\.reason))
        #expect(runs.decisions.filter { $0.reason == nil } == decisions.filter { $0.reason == nil })
        #expect(runs.drafts == drafts)
        var (one, other) = (AdmissionState(), AdmissionState())
        one.apply(straight.takeChanges())
        other.apply(runs.admission.takeChanges())
        #expect(one.groups.sorted { $0.group < $1.group } == other.groups.sorted { $0.group < $1.group })
        #expect(one.windows == other.windows)
        #expect(one.buckets == other.buckets)
    }
}

extension AdmissionDecision {
    fileprivate var reason: SuppressionReason? {
        guard case .suppress(let reason) = self else { return nil }
        return reason
    }
}

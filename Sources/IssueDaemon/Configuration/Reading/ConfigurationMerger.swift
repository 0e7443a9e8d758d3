/// Lays the files over each other, and complains of what no section and no key allows.
struct ConfigurationMerger {
    struct Assigned {
        var text: String
        var place: ConfigurationPlace
    }

    struct Section {
        var kind: ConfigurationSection
        var name: String?
        /// Tells two sections of one application apart that are for different users.
        var user: String?
        var place: ConfigurationPlace
        /// What holds: the last value, or all values of a list.
        var values: [String: [Assigned]] = [:]

        /// Keys whose value was complained of, so that it need not be missed too.
        var wrongKeys: Set<String> = []

        /// The scope of an error in this section.
        var scope: ConfigurationProblem.Scope {
            destinationName.map { .destination($0) } ?? .section(kind)
        }

        /// The name of the destination that the section configures, if any.
        var destinationName: String? {
            switch kind {
            case .logzIO: name ?? LogzIODestination.usualName
            case .ownStore(let kind): name ?? kind.word
            case .socket, .store, .access, .limits, .forward, .log: nil
            }
        }

        func place(of key: String) -> ConfigurationPlace? { values[key]?.last?.place }
    }

    private(set) var sections: [Section] = []
    private(set) var problems: [ConfigurationProblem] = []
    private(set) var files: [String] = []

    mutating func take(_ file: ConfigurationFile) {
        files.append(file.path)
        // The section of this file at each index, where there is one.
        var indices: [Int?] = []
        defer {
            for (problem, section) in zip(file.problems, file.problemSections) {
                var problem = problem
                if let section, let index = indices[section] { problem.scope = sections[index].scope }
                problems.append(problem)
            }
        }
        // What this file has said already: a second time is a mistake.
        var said: Set<Said> = []
        for section in file.sections {
            let place = ConfigurationPlace(file: file.path, line: section.line)
            guard let kind = kind(of: section, at: place) else {
                indices.append(nil)
                continue
            }
            let user = kind == .limits ? section.assignments.last { $0.key == "User" && !$0.value.isEmpty }?.value : nil
            let index = index(of: kind, name: section.name, user: user, at: place)
            indices.append(index)
            if kind.isDestination, !said.insert(Said(section: index)).inserted {
                complain(
                    place, "The destination \(section.title) is there twice; expected another name for this one.",
                    scope: sections[index].scope)
            }
            for assignment in section.assignments {
                take(assignment, of: index, in: file.path, said: &said)
            }
        }
    }

    private struct Said: Hashable {
        var section: Int
        var key: String?
    }

    private mutating func take(
        _ assignment: ConfigurationFile.Assignment, of index: Int, in file: String, said: inout Set<Said>
    ) {
        let section = sections[index]
        let place = ConfigurationPlace(file: file, line: assignment.line)
        guard let key = section.keys.first(where: { $0.name == assignment.key }) else {
            return complain(place, UnknownKey.sentence(for: assignment.key, in: section), scope: section.scope)
        }
        guard !assignment.value.isEmpty else {
            // From here on it is as if the key had never been said.
            sections[index].values[key.name] = nil
            said.remove(Said(section: index, key: key.name))
            return
        }
        guard key.accepts(assignment.value) else {
            sections[index].wrongKeys.insert(key.name)
            let value = key.isRepeated ? assignment.value.shownInComplaint : "…"
            return complain(
                place, "\(key.name)=\(value) cannot be; expected \(key.expected).", scope: section.scope)
        }
        let assigned = Assigned(text: assignment.value, place: place)
        if key.isList {
            sections[index].values[key.name, default: []].append(assigned)
        } else {
            if !said.insert(Said(section: index, key: key.name)).inserted {
                complain(
                    place, "\(key.name)= is there twice; expected it once, since it is no list.",
                    scope: section.scope)
            }
            sections[index].values[key.name] = [assigned]
        }
    }

    private mutating func kind(
        of section: ConfigurationFile.Section, at place: ConfigurationPlace
    ) -> ConfigurationSection? {
        guard let kind = ConfigurationSection.named(section.kind) else {
            if ConfigurationSection.planned.contains(section.kind) {
                complain(place, "This version does not have [\(section.kind)] yet; remove the section.")
            } else {
                let names = ConfigurationSection.all.map(\.name)
                let nearest = NearestName.to(section.kind, among: names)
                let question = nearest.map { " Did you mean [\($0)]?" } ?? ""
                complain(
                    place,
                    "There is no section [\(section.kind.shownInComplaint)]; "
                        + "expected one of \(names.joined(separator: ", ")).\(question)")
            }
            return nil
        }
        guard let name = section.name else { return kind }
        guard kind.mayHaveName else {
            complain(place, "The section [\(kind.name)] has no name; expected [\(kind.name)].")
            return nil
        }
        if kind.isDestination, ValueForm<String>.name("").parse(name) == nil {
            complain(
                place,
                "A destination cannot have the name “\(name.shownInComplaint)”; "
                    + "expected at most 64 letters, digits, “_”, “-” and “.”.")
            return nil
        }
        return kind
    }

    private mutating func index(
        of kind: ConfigurationSection, name: String?, user: String?, at place: ConfigurationPlace
    ) -> Int {
        if let index = sections.firstIndex(where: { $0.kind == kind && $0.name == name && $0.user == user }) {
            return index
        }
        sections.append(Section(kind: kind, name: name, user: user, place: place))
        return sections.count - 1
    }

    private mutating func complain(
        _ place: ConfigurationPlace, _ sentence: String, scope: ConfigurationProblem.Scope = .everything
    ) {
        problems.append(ConfigurationProblem(at: place, sentence, scope: scope))
    }
}

extension ConfigurationMerger.Section {
    var keys: [KeyFacts] { kind.keys(named: name != nil) }
    var title: String { "[\(kind.name)\(name.map { " " + $0 } ?? "")]" }
}

extension ConfigurationFile.Section {
    var title: String { "[\(kind)\(name.map { " " + $0 } ?? "")]" }
}

extension String {
    /// Short enough for one line of a log.
    var shownInComplaint: String {
        count > 80 ? prefix(80) + "…" : self
    }
}

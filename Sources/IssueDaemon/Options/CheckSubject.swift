import UnixIO

/// The user as which `issued --check` checks files.
///
/// Root can read everything, so what root sees says nothing about the service.
struct CheckSubject: Equatable {
    enum Choice: Equatable {
        /// As the user who runs the check.
        case caller
        case other(UserDatabase.User)
    }

    var choice: Choice
    /// Names the user, and why that one was chosen.
    var explanation: String

    /// - Parameters:
    ///   - option: The value of `--user`.
    ///   - look: Finds a user by name or number.
    init(
        option: String?, callerID: UInt32, unit: ServiceUnit,
        look: (String) -> UserDatabase.User? = { UserDatabase.user(named: $0) }
    ) throws(UsageError) {
        let caller = look("\(callerID)")?.name ?? "\(callerID)"
        let name = option ?? unit.user
        let user = look(name)
        if option != nil, user == nil {
            throw UsageError(message: "--user: there is no user \(name.shownInComplaint).")
        }
        guard let user else {
            self.init(.caller, "user \(caller), since there is no user \(name)")
            return
        }
        if user.userID == callerID {
            self.init(.caller, "user \(caller)")
        } else if callerID != 0 {
            self.init(.caller, "user \(caller), not as \(name): only root can do that")
        } else {
            self.init(.other(user), "user \(user.name)\(option == nil ? ", the user of \(unit.place)" : "")")
        }
    }

    private init(_ choice: Choice, _ explanation: String) {
        (self.choice, self.explanation) = (choice, explanation)
    }

    /// Takes the user's rights, and returns what the service of that user would find.
    func assume(in surroundings: HostEnvironment) throws(UsageError) -> HostEnvironment {
        guard case .other(let user) = choice else { return surroundings }
        do throws(Errno) {
            try CurrentProcess.assume(user)
        } catch {
            throw UsageError(message: "can't become user \(user.name): \(error).")
        }
        var surroundings = surroundings
        surroundings.userID = user.userID
        // It is the host's daemon that is meant, not one of that user's own.
        surroundings.variables = ["STATE_DIRECTORY": ServiceUnit.stateFolder]
        return surroundings
    }

    /// Warns of a database where the unit's sandbox does not let the daemon write.
    func warnings(on database: String, unit: ServiceUnit) -> [String] {
        guard unit.isInstalled, case .other = choice else { return [] }
        let folder = FileSystem.parentFolder(of: database)
        let writable = [ServiceUnit.stateFolder] + unit.writablePaths
        guard !writable.contains(where: { folder == $0 || folder.hasPrefix($0 + "/") }) else { return [] }
        return [
            "[Store] Path=\(database) is outside of \(ServiceUnit.stateFolder), and \(unit.place) may not let the daemon "
                + "write there: add ReadWritePaths=\(folder) to its [Service] section with systemctl edit issued."
        ]
    }
}

/// The settings of the installed `issued.service` that matter to `--check`.
struct ServiceUnit: Equatable {
    static let stateFolder = "/var/lib/issued"

    var user = "issued"
    var writablePaths: [String] = []
    var isInstalled = false
    /// The file that names the user.
    var place = "issued.service"

    /// Reads the unit and its drop-ins as systemd.unit(5) lays them over each other.
    init(folders: [String]) {
        let unitFile = folders.map { "\($0)/issued.service" }.first { (try? FileSystem.status(of: $0)) != nil }
        var dropIns: [String: String] = [:]
        for folder in folders.reversed() {
            let path = "\(folder)/issued.service.d"
            for name in (try? FileSystem.names(in: path)) ?? [] where name.hasSuffix(".conf") {
                dropIns[name] = "\(path)/\(name)"
            }
        }
        let ordered = dropIns.keys.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }.compactMap { dropIns[$0] }
        for path in [unitFile].compactMap({ $0 }) + ordered {
            guard let content = try? FileSystem.read(path, limit: ConfigurationFile.sizeLimit) else { continue }
            isInstalled = isInstalled || path == unitFile
            for section in ConfigurationFile(path: path, content: content).sections where section.kind == "Service" {
                for assignment in section.assignments { take(assignment, in: path) }
            }
        }
    }

    private mutating func take(_ assignment: ConfigurationFile.Assignment, in path: String) {
        switch assignment.key {
        case "User":
            user = assignment.value.isEmpty ? "root" : assignment.value
            place = path
        case "ReadWritePaths" where assignment.value.isEmpty: writablePaths = []
        case "ReadWritePaths":
            let paths = assignment.value.split(whereSeparator: \.isBlank)
            writablePaths += paths.map { path in String(path.drop { "-+".contains($0) }) }
        default: break
        }
    }
}

extension HostEnvironment {
    var unit: ServiceUnit { ServiceUnit(folders: unitFolders) }
}

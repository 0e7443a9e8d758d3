import UnixIO

/// The user with whose rights `issued --check` reads files.
///
/// Root can read everything, so checking as root would not show what the service can read.
struct CheckSubject: Equatable {
    enum Choice: Equatable {
        /// The user who runs the check.
        case caller
        case other(UserDatabase.User)
    }

    var choice: Choice
    /// A phrase with the user and the reason for the choice.
    var explanation: String

    /// Chooses the user.
    ///
    /// - Parameters:
    ///   - option: The value of `--user`; nil without that option.
    ///   - callerID: The id of the user who runs the check.
    ///   - unit: The installed unit, which names the daemon's user.
    ///   - findUser: Finds a user by name or number.
    init(
        option: String?, callerID: UInt32, unit: ServiceUnit,
        findUser: (String) -> UserDatabase.User? = { UserDatabase.user(named: $0) }
    ) throws(UsageError) {
        let caller = findUser("\(callerID)")?.name ?? "\(callerID)"
        let name = option ?? unit.user
        choice = .caller
        guard let user = findUser(name) else {
            if option != nil { throw UsageError("--user: no user named \(name.truncatedForLog).") }
            explanation = "user \(caller) because there is no user \(name)"
            return
        }
        if user.userID == callerID {
            explanation = "user \(caller)"
        } else if callerID != 0 {
            explanation = "user \(caller), not as \(name): only root can do that"
        } else {
            choice = .other(user)
            explanation = "user \(user.name)\(option == nil ? ", the user of \(unit.sourcePath)" : "")"
        }
    }

    /// Assumes the user's rights, and returns the environment of a service with that user.
    func assume(in surroundings: HostEnvironment) throws(UsageError) -> HostEnvironment {
        guard case .other(let user) = choice else { return surroundings }
        do throws(Errno) {
            try CurrentProcess.assume(user)
        } catch {
            throw UsageError("can't become user \(user.name): \(error).")
        }
        var surroundings = surroundings
        surroundings.userID = user.userID
        // The host's daemon is checked, not a daemon of that user.
        surroundings.variables = ["STATE_DIRECTORY": ServiceUnit.stateFolder]
        return surroundings
    }

    /// Warns if the unit's sandbox does not allow the daemon to write to the folder of the database.
    func warnings(on database: String, unit: ServiceUnit) -> [String] {
        guard unit.isInstalled, case .other = choice else { return [] }
        let folder = FileSystem.parentFolder(of: database)
        let writable = [ServiceUnit.stateFolder] + unit.writablePaths
        guard !writable.contains(where: { folder == $0 || folder.hasPrefix($0 + "/") }) else { return [] }
        return [
            "[Store] Path=\(database) is outside of \(ServiceUnit.stateFolder), and \(unit.sourcePath) may not let the daemon "
                + "write there: add ReadWritePaths=\(folder) to its [Service] section with systemctl edit issued."
        ]
    }
}

/// The settings of the installed `issued.service` that `--check` needs.
struct ServiceUnit: Equatable {
    static let stateFolder = "/var/lib/issued"
    /// The credentials that the shipped unit loads.
    static let credentials: Set<String> = ["logzio-token"]

    var user = "issued"
    var writablePaths: [String] = []
    var isInstalled = false
    /// The file that sets the user.
    var sourcePath = "issued.service"

    /// Reads the unit and merges its drop-ins as described in systemd.unit(5).
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
                for assignment in section.assignments { apply(assignment, in: path) }
            }
        }
    }

    private mutating func apply(_ assignment: ConfigurationFile.Assignment, in path: String) {
        switch assignment.key {
        case "User":
            user = assignment.value.isEmpty ? "root" : assignment.value
            sourcePath = path
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

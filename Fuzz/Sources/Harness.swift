/// What can be fuzzed; the program does what it is called.
enum Harness: String, CaseIterable {
    case framing
    case json
    case template
    case record
    case report
    case parameters
    case envelope
    case stored
    case line
    case answer
    case storeAnswer = "store-answer"
    case configuration
    case text
    case process
    case reply
    case filter
    case setAside = "set-aside"
    case spill
    case planted
    case plantedGrowth = "planted-growth"

    /// The one that the program was started as: it is there under each of these names.
    static let chosen: Harness = {
        let name = CommandLine.arguments.first?.split(separator: "/").last ?? ""
        guard let harness = Harness(rawValue: String(name)) else {
            fatalError("The program must be called one of \(allCases.map(\.rawValue).joined(separator: ", "))")
        }
        return harness
    }()

    func run(_ input: Span<UInt8>) {
        switch self {
        case .framing: FramingHarness.run(input)
        case .json: JSONHarness.run(input)
        case .template: TemplateHarness.run(input)
        case .record: RecordHarness.run(input)
        case .report: ReportHarness.run(input)
        case .parameters: ParametersHarness.run(input)
        case .envelope: EnvelopeHarness.run(input)
        case .stored: StoredHarness.run(input)
        case .line: LineHarness.run(input)
        case .answer: AnswerHarness.run(input)
        case .storeAnswer: StoreAnswerHarness.run(input)
        case .configuration: ConfigurationHarness.run(input)
        case .text: TextHarness.run(input)
        case .process: ProcessHarness.run(input)
        case .reply: ReplyHarness.run(input)
        case .filter: FilterHarness.run(input)
        case .setAside: SetAsideHarness.run(input)
        case .spill: SpillHarness.run(input)
        case .planted: PlantedHarness.run(input)
        case .plantedGrowth: PlantedGrowthHarness.run(input)
        }
    }

    /// How many comparisons the harness may make for each byte of a large input, its own and those of its plain reader
    /// included: about three times the most that any input of the corpus took when it was measured.
    var maxWorkPerByte: Double { 3000 }
}

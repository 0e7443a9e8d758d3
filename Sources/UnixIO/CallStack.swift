import CLinux
import Glibc

/// The executable or a library that is loaded in this process.
package struct LoadedImage: Hashable, Sendable {
    /// The path; empty for the executable.
    package var path: String
    /// The load address. Subtracting it from an address in memory gives the address in the file.
    package var base: UInt
    /// The range of addresses that contains the code.
    package var code: Range<UInt>
    /// The build id in hexadecimal digits; nil if the linker added none.
    package var buildID: String?

    /// All images that are loaded now, ordered by address.
    ///
    /// The loader holds a lock while its list is read. Forks are delayed during this time, so that a child can also
    /// read the list. If a child was forked while another thread held the lock, for example to load a library or to
    /// unwind a C++ stack, this call never returns in the child.
    package static var all: [LoadedImage] {
        var images: [LoadedImage] = []
        unsafe withUnsafeMutablePointer(to: &images) { images in
            unsafe clinux_visit_images(
                { image, context in
                    guard let image = unsafe image?.pointee, let context = unsafe context else { return }
                    let images = unsafe context.assumingMemoryBound(to: [LoadedImage].self)
                    unsafe images.pointee.append(LoadedImage(image))
                }, images)
        }
        return images.sorted { $0.code.lowerBound < $1.code.lowerBound }
    }

    /// A number that changes whenever an image is loaded or unloaded.
    package static var generation: UInt64 { clinux_images_generation() }

    private init(_ image: clinux_image) {
        path = unsafe image.name.map { unsafe String(cString: $0) } ?? ""
        base = UInt(unsafe image.base)
        code = UInt(unsafe image.start)..<UInt(unsafe image.end)
        if let id = unsafe image.build_id {
            let bytes = unsafe UnsafeBufferPointer(start: id, count: image.build_id_length)
            let digits = Array("0123456789abcdef")
            buildID = unsafe String(bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] })
        }
    }
}

/// Functions of libraries that may be loaded, but that this program is not linked with.
package enum LoadedSymbols {
    /// Returns the function with a name; nil if neither the program nor a library exports it, not counting libraries
    /// loaded with RTLD_LOCAL.
    ///
    /// The type is not checked: the caller must pass the actual type of the function.
    ///
    /// - Parameters:
    ///   - name: The name of the symbol.
    ///   - type: A thin function type, such as `@convention(c) () -> Void`.
    @unsafe package static func function<Function>(_ name: String, as type: Function.Type) -> Function? {
        precondition(
            MemoryLayout<Function>.size == MemoryLayout<UInt>.size, "The function type must be thin")
        // NULL is RTLD_DEFAULT of dlsym(3).
        guard let address = unsafe dlsym(nil, name) else { return nil }
        return unsafe unsafeBitCast(address, to: type)
    }

    /// Returns `true` if ``function(_:as:)`` finds a symbol with this name.
    package static func has(_ name: String) -> Bool {
        unsafe dlsym(nil, name) != nil
    }
}

/// The active calls of the current thread.
package enum CallStack {
    /// A position on the call stack. The callers of a function are above it, at higher addresses.
    package struct Mark: Sendable {
        fileprivate var frame: UInt

        /// Creates a mark at the position of the caller.
        package init() {
            frame = clinux_stack_mark()
        }

        fileprivate init(frame: UInt) {
            self.frame = frame
        }

        /// A position below all calls.
        package static var bottom: Mark { Mark(frame: 0) }
    }

    /// Returns the return addresses of the active calls, innermost first, without the calls at or below a mark.
    ///
    /// The addresses are found with frame pointers. C code may not have any, so the list may be incomplete.
    ///
    /// - Parameters:
    ///   - mark: Only calls above this position are returned.
    ///   - capacity: The maximum number of addresses.
    package static func returnAddresses(above mark: Mark = .bottom, atMost capacity: Int) -> [UInt] {
        // Array(unsafeUninitializedCapacity:) would look up the array's type at run time in each call.
        unsafe withUnsafeTemporaryAllocation(of: UInt.self, capacity: capacity) { buffer in
            let count = unsafe Int(
                clinux_return_addresses(mark.frame, buffer.baseAddress, CInt(clamping: buffer.count)))
            var addresses: [UInt] = []
            addresses.reserveCapacity(count)
            for index in 0..<count { unsafe addresses.append(buffer[index]) }
            return addresses
        }
    }
}

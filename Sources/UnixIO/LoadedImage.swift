internal import CLinux
internal import Glibc

/// The executable, or a library, as this process has it loaded.
package struct LoadedImage: Hashable, Sendable {
    /// Its path; that of the executable is empty.
    package var path: String
    /// What is to be taken from an address to have one of the file.
    package var base: UInt
    /// The addresses of its code.
    package var code: Range<UInt>
    /// Which build it is, in hexadecimal digits; none if the linker gave it none.
    package var buildID: String?

    /// All that is loaded now, in the order of their addresses.
    ///
    /// It asks the loader, which holds a lock meanwhile. A fork waits for who
    /// asks here, so that a child may ask as well; one that is forked off while
    /// somebody else has the lock, who loads a library or unwinds a stack in
    /// C++, would wait for ever.
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

    /// Another number after each image that was loaded or unloaded.
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

/// Functions of libraries that this process may have loaded, and that it was not linked with.
package enum LoadedSymbols {
    /// The function of this name, as a value of a function type; nil if no loaded library has it.
    ///
    /// The caller must know that the type is that of the function: nobody checks it.
    @unsafe package static func function<Function>(_ name: String, as type: Function.Type) -> Function? {
        precondition(
            MemoryLayout<Function>.size == MemoryLayout<UInt>.size, "A thin function is one address")
        // NULL stands for all that is loaded: RTLD_DEFAULT of dlsym(3).
        guard let address = unsafe dlsym(nil, name) else { return nil }
        return unsafe unsafeBitCast(address, to: type)
    }

    /// Whether some loaded library has a symbol of this name.
    package static func has(_ name: String) -> Bool {
        unsafe dlsym(nil, name) != nil
    }
}

/// The calls that are under way on this thread.
package enum CallStack {
    /// How deep the calls are nested at some point.
    package struct Mark: Sendable {
        fileprivate var frame: UInt

        /// Where this is called.
        package init() {
            frame = clinux_stack_mark()
        }

        fileprivate init(frame: UInt) {
            self.frame = frame
        }

        /// Deeper than any call.
        package static var bottom: Mark { Mark(frame: 0) }
    }

    /// Where they return to, innermost first, without what was called from where the mark was made.
    ///
    /// Found by the frame pointers, which Swift keeps and C may not: the list
    /// may end early.
    package static func returnAddresses(above mark: Mark = .bottom, atMost capacity: Int) -> [UInt] {
        unsafe [UInt](unsafeUninitializedCapacity: capacity) { buffer, count in
            count = unsafe Int(clinux_return_addresses(mark.frame, buffer.baseAddress, CInt(clamping: buffer.count)))
        }
    }
}

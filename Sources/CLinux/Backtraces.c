#define _GNU_SOURCE
#include "CLinux.h"

#include <link.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

// Finds the bounds of this thread's stack, from the lowest byte to after the highest. Returns false if they are
// unknown.
static bool stack_of_thread(uintptr_t *start, uintptr_t *end) {
    static _Thread_local uintptr_t known_start, known_end;
    static _Thread_local bool is_known;
    if (!is_known) {
        is_known = true;
        pthread_attr_t attributes;
        if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
            void *address;
            size_t size;
            if (pthread_attr_getstack(&attributes, &address, &size) == 0) {
                known_start = (uintptr_t)address;
                known_end = known_start + size;
            }
            pthread_attr_destroy(&attributes);
        }
    }
    *start = known_start;
    *end = known_end;
    return known_end > known_start;
}

uintptr_t clinux_stack_mark(void) {
    return (uintptr_t)__builtin_frame_address(0);
}

int clinux_return_addresses(uintptr_t mark, uintptr_t *addresses, int capacity) {
    uintptr_t start, end;
    if (!stack_of_thread(&start, &end)) return 0;
    uintptr_t frame = (uintptr_t)__builtin_frame_address(0);
    int count = 0;
    // Even if the frame pointers are invalid, only addresses within this stack are read, each at most once.
    while (count < capacity && frame >= start && frame + 2 * sizeof(uintptr_t) <= end
           && frame % sizeof(uintptr_t) == 0) {
        const uintptr_t *words = (const uintptr_t *)frame;
        if (words[1] == 0) break;
        if (frame > mark) addresses[count++] = words[1];
        // Swift marks the frames of asynchronous functions with this bit.
        uintptr_t next = words[0] & ~((uintptr_t)1 << 60);
        if (next <= frame) break;
        frame = next;
    }
    return count;
}

// Sets `id` and `length` to the build id in the notes of an image. Leaves them unchanged if there is none.
static void find_build_id(const struct dl_phdr_info *info, const uint8_t **id, size_t *length) {
    for (int index = 0; index < info->dlpi_phnum; index++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[index];
        if (header->p_type != PT_NOTE) continue;
        const uint8_t *note = (const uint8_t *)(info->dlpi_addr + header->p_vaddr);
        const uint8_t *end = note + header->p_memsz;
        while (note + sizeof(ElfW(Nhdr)) <= end) {
            const ElfW(Nhdr) *head = (const ElfW(Nhdr) *)note;
            const uint8_t *name = note + sizeof *head;
            const uint8_t *text = name + ((head->n_namesz + 3u) & ~3u);
            const uint8_t *next = text + ((head->n_descsz + 3u) & ~3u);
            if (next > end) break;
            if (head->n_type == NT_GNU_BUILD_ID && head->n_namesz == 4 && memcmp(name, "GNU", 4) == 0) {
                *id = text;
                *length = head->n_descsz;
                return;
            }
            note = next;
        }
    }
}

struct image_visit {
    clinux_image_visitor visitor;
    void *context;
    unsigned long long generation;
};

static int visit_image(struct dl_phdr_info *info, size_t size, void *context) {
    struct image_visit *visit = context;
    if (size >= offsetof(struct dl_phdr_info, dlpi_subs) + sizeof info->dlpi_subs) {
        visit->generation = info->dlpi_adds + info->dlpi_subs;
    }
    // Each image reports the same counters, so the first one is enough.
    if (visit->visitor == NULL) return 1;
    uintptr_t start = UINTPTR_MAX, end = 0;
    for (int index = 0; index < info->dlpi_phnum; index++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[index];
        if (header->p_type != PT_LOAD || (header->p_flags & PF_X) == 0) continue;
        uintptr_t first = info->dlpi_addr + header->p_vaddr;
        if (first < start) start = first;
        if (first + header->p_memsz > end) end = first + header->p_memsz;
    }
    if (end <= start) return 0;
    struct clinux_image image = {
        .name = info->dlpi_name, .base = info->dlpi_addr, .start = start, .end = end};
    find_build_id(info, &image.build_id, &image.build_id_length);
    visit->visitor(&image, visit->context);
    return 0;
}

static void visit_all(struct image_visit *visit) {
    // A child that is forked during the call would inherit the loader's lock in its locked state.
    clinux_forks_hold();
    dl_iterate_phdr(visit_image, visit);
    clinux_forks_release();
}

void clinux_visit_images(clinux_image_visitor visitor, void *context) {
    struct image_visit visit = {.visitor = visitor, .context = context};
    visit_all(&visit);
}

uint64_t clinux_images_generation(void) {
    struct image_visit visit = {.visitor = NULL};
    visit_all(&visit);
    return visit.generation;
}

#include "agent/frames/eh_frame.h"

#include <stdbool.h>
#include <string.h>

#if defined(__aarch64__)
#define REGISTER_FP     29
#define REGISTER_SP     31
#define REGISTER_RETURN 30
#define REGISTER_PC     UINT64_MAX
#else /* other machines use these registers, in tests only */
#define REGISTER_FP     6
#define REGISTER_SP     7
#define REGISTER_RETURN 16
#define REGISTER_PC     16
#endif

#define REMEMBERED_MAX 8 /* nested DW_CFA_remember_state; compilers use one */
#define VALUES_MAX     8 /* values on an expression's stack; the linkers' PLT uses four */

/* Encodings and instructions of DWARF 5, section 7.24, and the Linux Standard Base, section 10.5. */
enum {
    ENCODED_OMIT = 0xff,
    ENCODED_PC_RELATIVE = 0x10,
    ENCODED_HEADER_RELATIVE = 0x30,
    ENCODED_TABLE = 0x3b, /* relative to the header, 4 bytes with sign */

    CFA_ADVANCE = 0x40,
    CFA_OFFSET = 0x80,
    CFA_RESTORE = 0xc0,
    CFA_NOP = 0x00,
    CFA_SET = 0x01,
    CFA_ADVANCE_1 = 0x02,
    CFA_ADVANCE_2 = 0x03,
    CFA_ADVANCE_4 = 0x04,
    CFA_OFFSET_EXTENDED = 0x05,
    CFA_RESTORE_EXTENDED = 0x06,
    CFA_UNDEFINED = 0x07,
    CFA_SAME = 0x08,
    CFA_REGISTER = 0x09,
    CFA_REMEMBER = 0x0a,
    CFA_RECALL = 0x0b,
    CFA_DEF = 0x0c,
    CFA_DEF_REGISTER = 0x0d,
    CFA_DEF_OFFSET = 0x0e,
    CFA_DEF_EXPRESSION = 0x0f,
    CFA_EXPRESSION = 0x10,
    CFA_OFFSET_EXTENDED_SIGNED = 0x11,
    CFA_DEF_SIGNED = 0x12,
    CFA_DEF_OFFSET_SIGNED = 0x13,
    CFA_VAL_OFFSET = 0x14,
    CFA_VAL_OFFSET_SIGNED = 0x15,
    CFA_VAL_EXPRESSION = 0x16,
    CFA_NEGATE_RETURN_STATE_PC = 0x2c, /* arm64: the return address is signed; the bits are always removed */
    CFA_NEGATE_RETURN_STATE = 0x2d,
    CFA_ARGUMENTS_SIZE = 0x2e,
    CFA_NEGATIVE_OFFSET_EXTENDED = 0x2f
};

/* ---- Reading ------------------------------------------------------------------------------------------- */

/* Reads bytes. After a failure `at` is `end`, and numbers are 0. */
struct reader {
    const uint8_t *at, *end;
    bool has_failed;
    uint64_t moved; /* from these bytes to those of which they are a copy */
};

static bool fail(struct reader *from)
{
    from->at = from->end;
    from->has_failed = true;
    return false;
}

static bool skip(struct reader *from, uint64_t bytes)
{
    if (bytes > (uint64_t)(from->end - from->at))
        return fail(from);
    from->at += bytes;
    return true;
}

static uint64_t take(struct reader *from, uint64_t bytes)
{
    uint64_t value = 0; /* both architectures are little-endian */
    const uint8_t *at = from->at;
    if (skip(from, bytes))
        memcpy(&value, at, bytes);
    return value;
}

static int64_t take_signed(struct reader *from, uint64_t bytes)
{
    unsigned unused_bits = 64 - 8 * (unsigned)bytes;
    return (int64_t)(take(from, bytes) << unused_bits) >> unused_bits;
}

static uint64_t take_leb(struct reader *from, bool is_signed)
{
    uint64_t value = 0, byte;
    unsigned shift = 0;
    do {
        byte = take(from, 1);
        if (shift < 64)
            value |= (byte & 0x7f) << shift;
        shift += 7;
    } while ((byte & 0x80) && shift < 70);
    if (byte & 0x80)
        fail(from);
    if (is_signed && (byte & 0x40) && shift < 64)
        value |= ~(uint64_t)0 << shift;
    return value;
}

static uint64_t take_uleb(struct reader *from)
{
    return take_leb(from, false);
}

static int64_t take_sleb(struct reader *from)
{
    return (int64_t)take_leb(from, true);
}

/* Reads an address in one of the encodings of .eh_frame. Fails with indirect ones, which only personalities
 * have. */
static uint64_t take_encoded(struct reader *from, uint8_t encoding, const uint8_t *header)
{
    static const uint8_t sizes[8] = {8, 0, 2, 4, 8, 0, 0, 0}; /* the fourth bit: with sign */
    uint64_t base = 0;
    switch (encoding & 0xf0) {
    case 0:
        break;
    case ENCODED_PC_RELATIVE:
        base = (uint64_t)(uintptr_t)from->at + from->moved;
        break;
    case ENCODED_HEADER_RELATIVE:
        base = (uint64_t)(uintptr_t)header;
        break;
    default:
        return fail(from);
    }
    uint8_t bytes = sizes[encoding & 7];
    if ((encoding & 7) == 1)
        return base + take_leb(from, encoding & 8);
    if (bytes == 0)
        return fail(from);
    return base + (encoding & 8 ? (uint64_t)take_signed(from, bytes) : take(from, bytes));
}

/* ---- Expressions --------------------------------------------------------------------------------------- */

/* A value during the evaluation: a number, or relative to a register, or to memory that a register points
 * to. The address of the instruction is known, so it is a number. */
struct value {
    enum { VALUE_NUMBER, VALUE_SP, VALUE_FP, VALUE_AT_SP, VALUE_AT_FP } base;
    int64_t inside; /* for AT: added to the register */
    int64_t add;
};

static bool push_register(struct value *value, uint64_t number, int64_t add, uint64_t address)
{
    *value = (struct value){.base = number == REGISTER_SP ? VALUE_SP : VALUE_FP, .add = add};
    if (number == REGISTER_PC)
        *value = (struct value){.base = VALUE_NUMBER, .add = (int64_t)(address + (uint64_t)add)};
    return number == REGISTER_SP || number == REGISTER_FP || number == REGISTER_PC;
}

static bool dereference(struct value *value)
{
    if (value->base != VALUE_SP && value->base != VALUE_FP)
        return false;
    *value =
        (struct value){.base = value->base == VALUE_SP ? VALUE_AT_SP : VALUE_AT_FP, .inside = value->add};
    return true;
}

/* Applies an operator of two values; `left` becomes the result. False: the operator is not supported. */
static bool combine(uint8_t op, struct value *left, const struct value *right)
{
    uint64_t a = (uint64_t)left->add, b = (uint64_t)right->add;
    bool are_numbers = left->base == VALUE_NUMBER && right->base == VALUE_NUMBER;
    if (op == 0x22 && left->base == VALUE_NUMBER) { /* plus */
        *left = *right;
        left->add = (int64_t)(a + b);
    } else if (op == 0x22 && right->base == VALUE_NUMBER) {
        left->add = (int64_t)(a + b);
    } else if (op == 0x1c && right->base == VALUE_NUMBER) { /* minus */
        left->add = (int64_t)(a - b);
    } else if (!are_numbers) {
        return false;
    } else if (op == 0x1a) { /* and */
        left->add = (int64_t)(a & b);
    } else if (op == 0x24) { /* shl */
        left->add = b < 64 ? (int64_t)(a << b) : 0;
    } else if (op == 0x2a) { /* ge */
        left->add = left->add >= right->add;
    } else {
        return false;
    }
    return true;
}

/* Evaluates an expression with the operations in unwind tables of compilers, C libraries and linkers:
 * registers, sums, one access to memory, and the PLT's condition. False: another operation. */
static bool evaluate(struct reader code, uint64_t address, struct value *result)
{
    struct value values[VALUES_MAX];
    unsigned count = 0;
    while (code.at < code.end) {
        uint8_t op = (uint8_t)take(&code, 1);
        bool is_push = (op >= 0x08 && op <= 0x11) || (op >= 0x30 && op <= 0x4f) || (op >= 0x70 && op <= 0x8f);
        bool is_binary = op == 0x1a || op == 0x1c || op == 0x22 || op == 0x24 || op == 0x2a;
        if (is_push ? count == VALUES_MAX : count < (is_binary ? 2 : 1))
            return false;
        struct value *next = &values[is_push ? count : 0], *top = &values[count ? count - 1 : 0];
        if (is_push)
            *next = (struct value){VALUE_NUMBER, 0, 0};
        if (op >= 0x70 && op <= 0x8f) { /* breg */
            if (!push_register(next, op - 0x70u, take_sleb(&code), address))
                return false;
        } else if (op >= 0x30 && op <= 0x4f) { /* lit */
            next->add = op - 0x30;
        } else if (op >= 0x08 && op <= 0x0f) { /* const: 1, 2, 4, 8 bytes, without and with sign */
            uint64_t bytes = (uint64_t)1 << ((op - 0x08) / 2);
            next->add = op & 1 ? take_signed(&code, bytes) : (int64_t)take(&code, bytes);
        } else if (op == 0x10 || op == 0x11) { /* constu, consts */
            next->add = (int64_t)take_leb(&code, op & 1);
        } else if (op == 0x23) { /* plus_uconst */
            top->add = (int64_t)((uint64_t)top->add + take_uleb(&code));
        } else if (op == 0x06) { /* deref */
            if (!dereference(top))
                return false;
        } else if (!is_binary || !combine(op, &values[count - 2], top)) {
            return false;
        }
        count = is_push ? count + 1 : is_binary ? count - 1 : count;
    }
    *result = count == 1 ? values[0] : (struct value){0};
    return count == 1 && !code.has_failed;
}

/* ---- The program of a function ------------------------------------------------------------------------- */

struct register_place {
    enum {
        PLACE_SAME,
        PLACE_UNDEFINED,
        PLACE_AT_CFA,
        PLACE_EXPRESSION, /* the place's address */
        PLACE_OTHER
    } in;
    int64_t offset;
    struct reader expression;
};

/* The tables' content for one address and the registers that matter. */
struct row {
    uint64_t cfa_register;
    int64_t cfa_offset;
    bool cfa_is_expression;
    struct reader cfa_expression;
    struct register_place fp, ret, other; /* other: written for all other registers, never read */
};

struct description { /* a CIE and an FDE */
    uint64_t code_align;
    int64_t data_align;
    uint64_t return_register;
    uint8_t encoding;
    bool has_augmentation, is_signal;
    uint64_t begin, bytes; /* address range of the function */
    struct reader common, own;
};

static struct register_place *place_of(struct row *row, const struct description *about, uint64_t number)
{
    return number == about->return_register ? &row->ret : number == REGISTER_FP ? &row->fp : &row->other;
}

static struct reader take_block(struct reader *from)
{
    uint64_t bytes = take_uleb(from);
    struct reader block = {.at = from->at};
    block.end = skip(from, bytes) ? from->at : block.at;
    return block;
}

static int64_t scaled(const struct description *about, uint64_t factored)
{
    return (int64_t)(factored * (uint64_t)about->data_align);
}

/* Runs an instruction about one register's place. False: the instruction is another one. */
static bool run_place(struct reader *from, uint8_t op, const struct description *about, struct row *row,
                      const struct row *initial)
{
    uint8_t primary = op & 0xc0;
    uint64_t number = primary ? op & 0x3f : take_uleb(from);
    struct register_place *place = place_of(row, about, number), value = {.in = PLACE_AT_CFA};
    switch (primary ? primary : op) {
    case CFA_OFFSET:
    case CFA_OFFSET_EXTENDED:
        value.offset = scaled(about, take_uleb(from));
        break;
    case CFA_OFFSET_EXTENDED_SIGNED:
        value.offset = scaled(about, (uint64_t)take_sleb(from));
        break;
    case CFA_NEGATIVE_OFFSET_EXTENDED:
        value.offset = scaled(about, 0 - take_uleb(from));
        break;
    case CFA_RESTORE:
    case CFA_RESTORE_EXTENDED:
        value = number == about->return_register ? initial->ret : initial->fp;
        break;
    case CFA_UNDEFINED:
        value.in = PLACE_UNDEFINED;
        break;
    case CFA_SAME:
        value.in = PLACE_SAME;
        break;
    case CFA_EXPRESSION:
        value = (struct register_place){.in = PLACE_EXPRESSION, .expression = take_block(from)};
        break;
    case CFA_VAL_EXPRESSION:
        take_block(from);
        value.in = PLACE_OTHER;
        break;
    case CFA_REGISTER:
    case CFA_VAL_OFFSET:
    case CFA_VAL_OFFSET_SIGNED:
        take_uleb(from);
        value.in = PLACE_OTHER;
        break;
    default:
        return false;
    }
    *place = value;
    return true;
}

static bool run_cfa(struct reader *from, uint8_t op, const struct description *about, struct row *row)
{
    row->cfa_is_expression = op == CFA_DEF_EXPRESSION;
    switch (op) {
    case CFA_DEF:
        row->cfa_register = take_uleb(from);
        row->cfa_offset = (int64_t)take_uleb(from);
        return true;
    case CFA_DEF_SIGNED:
        row->cfa_register = take_uleb(from);
        row->cfa_offset = scaled(about, (uint64_t)take_sleb(from));
        return true;
    case CFA_DEF_REGISTER:
        row->cfa_register = take_uleb(from);
        return true;
    case CFA_DEF_OFFSET:
        row->cfa_offset = (int64_t)take_uleb(from);
        return true;
    case CFA_DEF_OFFSET_SIGNED:
        row->cfa_offset = scaled(about, (uint64_t)take_sleb(from));
        return true;
    case CFA_DEF_EXPRESSION:
        row->cfa_expression = take_block(from);
        return true;
    default:
        return false;
    }
}

/* Returns by how much the instruction advances the address; 0: it does not. */
static uint64_t advance(struct reader *from, uint8_t op)
{
    if ((op & 0xc0) == CFA_ADVANCE)
        return op & 0x3f;
    return op == CFA_ADVANCE_1   ? take(from, 1)
           : op == CFA_ADVANCE_2 ? take(from, 2)
           : op == CFA_ADVANCE_4 ? take(from, 4)
                                 : 0;
}

/* Runs the instructions up to `address`. Returns UNWIND_NONE, or the problem. */
static enum unwind_kind run(struct reader from, const struct description *about, uint64_t address,
                            struct row *row, const uint8_t *header)
{
    struct row remembered[REMEMBERED_MAX];
    const struct row initial = *row;
    unsigned depth = 0;
    uint64_t at = about->begin;
    while (from.at < from.end) {
        uint8_t op = (uint8_t)take(&from, 1);
        if ((op & 0xc0) == CFA_ADVANCE || (op >= CFA_ADVANCE_1 && op <= CFA_ADVANCE_4)) {
            at += advance(&from, op) * about->code_align;
        } else if (op == CFA_SET) {
            at = take_encoded(&from, about->encoding, header);
        } else if (op == CFA_REMEMBER) {
            if (depth == REMEMBERED_MAX)
                return UNWIND_UNSUPPORTED;
            remembered[depth++] = *row;
        } else if (op == CFA_RECALL) {
            if (depth == 0)
                return UNWIND_DAMAGED;
            *row = remembered[--depth];
        } else if (op == CFA_ARGUMENTS_SIZE) {
            take_uleb(&from);
        } else if (op >= CFA_DEF && op <= CFA_DEF_EXPRESSION ? !run_cfa(&from, op, about, row)
                   : op == CFA_DEF_SIGNED || op == CFA_DEF_OFFSET_SIGNED
                       ? !run_cfa(&from, op, about, row)
                       : op != CFA_NOP && op != CFA_NEGATE_RETURN_STATE && op != CFA_NEGATE_RETURN_STATE_PC &&
                             !run_place(&from, op, about, row, &initial)) {
            return UNWIND_UNSUPPORTED;
        }
        if (at > address)
            break;
    }
    return from.has_failed ? UNWIND_DAMAGED : UNWIND_NONE;
}

/* ---- From the tables to the rule ----------------------------------------------------------------------- */

static bool fits(int64_t value, int32_t *to)
{
    *to = (int32_t)value;
    return value == *to;
}

static enum unwind_kind set_cfa(const struct row *row, uint64_t address, struct unwind_rule *rule)
{
    static const uint8_t kinds[] = {UNWIND_UNSUPPORTED, UNWIND_SP, UNWIND_FP, UNWIND_AT_SP, UNWIND_AT_FP};
    struct value cfa = {.add = row->cfa_offset};
    if (row->cfa_is_expression) {
        if (!evaluate(row->cfa_expression, address, &cfa))
            return UNWIND_UNSUPPORTED;
    } else if (row->cfa_register == REGISTER_SP || row->cfa_register == REGISTER_FP) {
        cfa.base = row->cfa_register == REGISTER_SP ? VALUE_SP : VALUE_FP;
    }
    bool is_at = cfa.base >= VALUE_AT_SP;
    if (!fits(is_at ? cfa.inside : cfa.add, &rule->cfa_offset) || !fits(is_at ? cfa.add : 0, &rule->cfa_add))
        return UNWIND_UNSUPPORTED;
    return (enum unwind_kind)kinds[cfa.base];
}

static bool set_fp(const struct row *row, uint64_t address, struct unwind_rule *rule)
{
    struct value place;
    switch (row->fp.in) {
    case PLACE_SAME:
        return true;
    case PLACE_AT_CFA:
        rule->fp = UNWIND_FP_AT_CFA;
        return fits(row->fp.offset, &rule->fp_offset);
    case PLACE_EXPRESSION:
        rule->fp = UNWIND_FP_AT_FP;
        if (evaluate(row->fp.expression, address, &place) && place.base == VALUE_FP)
            return fits(place.add, &rule->fp_offset);
        break;
    default:
        break;
    }
    rule->fp = UNWIND_FP_LOST;
    return true;
}

static bool set_return(const struct row *row, struct unwind_rule *rule)
{
#if defined(__aarch64__)
    if (row->ret.in == PLACE_SAME) {
        rule->return_in = UNWIND_RETURN_IN_LINK;
        return true;
    }
#endif
    return row->ret.in == PLACE_AT_CFA && fits(row->ret.offset, &rule->return_offset);
}

static void make_rule(const struct row *row, const struct description *about, uint64_t address,
                      struct unwind_rule *rule)
{
    if (about->is_signal) {
        rule->kind = UNWIND_SIGNAL;
    } else if (row->ret.in == PLACE_UNDEFINED) {
        rule->kind = UNWIND_OUTERMOST;
    } else {
        enum unwind_kind kind = set_cfa(row, address, rule);
        if (kind == UNWIND_UNSUPPORTED || !set_fp(row, address, rule) || !set_return(row, rule)) {
            *rule = (struct unwind_rule){.kind = UNWIND_UNSUPPORTED};
            return;
        }
        rule->kind = (uint8_t)kind;
    }
}

/* ---- Finding the function ------------------------------------------------------------------------------ */

/* Opens an entry of .eh_frame, behind its length. False: the entry is not inside the tables, or has a length
 * of 64 bits. */
static bool open_entry(const struct eh_frame *tables, uint64_t address, struct reader *entry)
{
    uint64_t begin = (uint64_t)(uintptr_t)tables->begin, end = (uint64_t)(uintptr_t)tables->end;
    if (address < begin || address >= end)
        return false;
    *entry = (struct reader){.at = tables->begin + (address - begin), .end = tables->end};
    uint64_t bytes = take(entry, 4);
    const uint8_t *first = entry->at;
    if (bytes == UINT32_MAX || !skip(entry, bytes))
        return false;
    entry->end = entry->at;
    entry->at = first;
    return true;
}

static bool read_common(struct reader entry, const uint8_t *header, struct description *about)
{
    uint64_t id = take(&entry, 4), version = take(&entry, 1);
    const uint8_t *letters = entry.at, *nul = memchr(letters, 0, (size_t)(entry.end - letters));
    if (id != 0 || (version != 1 && version != 3 && version != 4) || !nul)
        return false;
    entry.at = nul + 1;
    if (version == 4)
        skip(&entry, 2); /* sizes of addresses and segments */
    about->code_align = take_uleb(&entry);
    about->data_align = take_sleb(&entry);
    about->return_register = version == 1 ? take(&entry, 1) : take_uleb(&entry);
    about->has_augmentation = *letters == 'z';
    if (about->has_augmentation) {
        struct reader more = take_block(&entry);
        for (letters++; *letters; letters++) {
            if (*letters == 'R')
                about->encoding = (uint8_t)take(&more, 1);
            else if (*letters == 'L')
                take(&more, 1);
            else if (*letters == 'P')
                take_encoded(&more, (uint8_t)take(&more, 1) & 0x7f, header);
            else if (*letters == 'S')
                about->is_signal = true;
            else if (*letters != 'B' && *letters != 'G') /* arm64: which key signs, and memory tags */
                return false;
        }
        entry.has_failed |= more.has_failed;
    } else if (*letters) {
        return false;
    }
    about->common = entry;
    return !entry.has_failed;
}

/* Reads the entry of a function, behind its reference to the common one. */
static bool read_own(struct reader entry, const uint8_t *header, struct description *about)
{
    about->begin = take_encoded(&entry, about->encoding, header);
    about->bytes = take_encoded(&entry, about->encoding & 0xf, header);
    if (about->has_augmentation)
        take_block(&entry);
    about->own = entry;
    return !entry.has_failed;
}

static bool read_description(const struct eh_frame *tables, uint64_t at, struct description *about)
{
    struct reader entry, common;
    if (!open_entry(tables, at, &entry))
        return false;
    uint64_t here = (uint64_t)(uintptr_t)entry.at, back = take(&entry, 4);
    return back != 0 && open_entry(tables, here - back, &common) &&
           read_common(common, tables->header, about) && read_own(entry, tables->header, about);
}

/* Returns the entry of the last function in the table that starts at the address or before it; 0: there is
 * none. */
static uint64_t search(const struct eh_frame *tables, uint64_t address, enum unwind_kind *problem)
{
    struct reader header = {.at = tables->header, .end = tables->end};
    uint64_t version = take(&header, 1), frame_encoding = take(&header, 1);
    uint64_t count_encoding = take(&header, 1), table_encoding = take(&header, 1);
    *problem = UNWIND_DAMAGED;
    if (version != 1)
        return 0;
    *problem = UNWIND_UNSUPPORTED;
    if (table_encoding != ENCODED_TABLE || count_encoding == ENCODED_OMIT)
        return 0;
    take_encoded(&header, (uint8_t)frame_encoding, tables->header);
    uint64_t count = take_encoded(&header, (uint8_t)count_encoding, tables->header);
    *problem = UNWIND_DAMAGED;
    if (header.has_failed || count > (uint64_t)(header.end - header.at) / 8)
        return 0;
    *problem = UNWIND_NONE;
    uint64_t low = 0, high = count, base = (uint64_t)(uintptr_t)tables->header;
    int32_t pair[2];
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        memcpy(pair, header.at + middle * 8, sizeof pair);
        if (base + (uint64_t)(int64_t)pair[0] <= address)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0)
        return 0;
    memcpy(pair, header.at + (low - 1) * 8, sizeof pair);
    return base + (uint64_t)(int64_t)pair[1];
}

/* Runs the instructions of a function, whose entries have been read. */
static void find_rule(const struct description *about, const uint8_t *header, uint64_t address,
                      struct unwind_rule *rule)
{
    struct row row = {.cfa_register = UINT64_MAX};
    enum unwind_kind problem = UNWIND_NONE;
    if (address >= about->begin && address - about->begin < about->bytes) {
        problem = UNWIND_UNSUPPORTED;
        if (about->return_register == REGISTER_RETURN) {
            /* The common instructions have no addresses, so all of them run. */
            problem = run(about->common, about, UINT64_MAX, &row, header);
            if (problem == UNWIND_NONE)
                problem = run(about->own, about, address, &row, header);
            if (problem == UNWIND_NONE) {
                make_rule(&row, about, address, rule);
                return;
            }
        }
    }
    rule->kind = (uint8_t)problem;
}

void eh_frame_find_rule(const struct eh_frame *tables, uint64_t address, struct unwind_rule *rule)
{
    struct description about = {0};
    enum unwind_kind problem;
    *rule = (struct unwind_rule){.kind = UNWIND_NONE};
    uint64_t at = search(tables, address, &problem);
    if (!at)
        rule->kind = (uint8_t)problem;
    else if (!read_description(tables, at, &about))
        rule->kind = UNWIND_DAMAGED;
    else
        find_rule(&about, tables->header, address, rule);
}

void eh_frame_find_rule_of_copy(const struct eh_frame_copy *copy, uint64_t address, struct unwind_rule *rule)
{
    struct description about = {0};
    struct reader common = {.at = copy->common, .end = copy->common + copy->common_bytes};
    struct reader own = {.at = copy->own, .end = copy->own + copy->own_bytes};
    own.moved = copy->own_address - (uint64_t)(uintptr_t)copy->own;
    *rule = (struct unwind_rule){.kind = UNWIND_DAMAGED};
    if (skip(&own, 4) && read_common(common, NULL, &about) && read_own(own, NULL, &about))
        find_rule(&about, NULL, address, rule);
}

/* The flame graph as an SVG with a script for search and zoom, which needs no network. The outermost frames
 * are on top. The script treats names as text, never as markup, and stands apart from all names. */
#include "analysis/flame/flame.h"

#include "cli/util/sort.h"
#include "cli/util/text.h"
#include "cli/util/xalloc.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define WIDTH       1200
#define ROW_HEIGHT  17
#define TOP         66
#define CHAR_WIDTH  7.25
#define FRAMES_MAX  20000 /* so that a browser stays fast; the smallest ones are left out */
#define CHANGE_FULL 0.5   /* a change by half has the full color */
#define CHANGE_NONE 0.01

static const char *const classes[FLAME_KINDS] = {"la", "py", "li", "na", "wo"};

static const char style[] =
    "text{font:12px ui-monospace,Menlo,Consolas,monospace;fill:#111}\n"
    ".bg{fill:#fff}.f{cursor:pointer}.f rect{stroke:#fff;stroke-width:.7}.f text{pointer-events:none}\n"
    ".f:hover rect{stroke:#111;stroke-width:1}\n"
    ".ro rect{fill:#d0d0d0}.la rect{fill:#c4c4c4}.py rect{fill:#f6a55c}.li rect{fill:#fbd9a4}\n"
    ".na rect{fill:#9db8e8}.wo rect{fill:#84c98b}\n"
    ".up{opacity:.55}.hide{display:none}.hit rect{fill:#c64be0}\n"
    "#reset{cursor:pointer;fill:#06c}#title{font-size:15px;font-weight:bold}\n"
    "#box input{font:12px ui-monospace,monospace;width:210px;box-sizing:border-box}\n";

/* Frames have their start and value in units of the weight, so positions stay exact at any zoom. */
static const char script[] =
    "(function(){\"use strict\";\n"
    "var svg=document.getElementById(\"top\"),get=function(i){return document.getElementById(i)};\n"
    "var frames=Array.prototype.map.call(document.querySelectorAll(\"g.f\"),function(g){\n"
    " var t=g.querySelector(\"title\").textContent,n=t.indexOf(\"\\n\");\n"
    " return{g:g,s:+g.getAttribute(\"data-s\"),v:+g.getAttribute(\"data-v\"),rect:g.querySelector(\"rect\"),"
    "\n"
    "  text:g.querySelector(\"text\"),name:t.slice(0,n),info:t.slice(n+1).replace(/\\n/g,\", \")};});\n"
    "frames.forEach(function(f){f.y=+f.rect.getAttribute(\"y\");});\n"
    "var all=frames[0],zoomed=all,width=1200;\n"
    "function fit(name,px){var n=Math.floor((px-6)/7.25);\n"
    " return n<3?\"\":name.length<=n?name:name.slice(0,n-2)+\"..\";}\n"
    "function draw(){var lo=zoomed.s,hi=lo+zoomed.v,scale=width/(hi-lo);\n"
    " frames.forEach(function(f){var a=Math.max(f.s,lo),b=Math.min(f.s+f.v,hi),w=(b-a)*scale;\n"
    "  var hidden=b<=a||w<.1;f.g.classList.toggle(\"hide\",hidden);\n"
    "  if(hidden)return;\n"
    "  f.g.classList.toggle(\"up\",f.y<zoomed.y);\n"
    "  f.rect.setAttribute(\"x\",((a-lo)*scale).toFixed(2));f.rect.setAttribute(\"width\",w.toFixed(2));\n"
    "  f.text.setAttribute(\"x\",((a-lo)*scale+3).toFixed(2));f.text.textContent=fit(f.name,w);});\n"
    " get(\"reset\").classList.toggle(\"hide\",zoomed===all);}\n"
    "function zoom(f){zoomed=f;draw();}\n"
    "function search(word){var test,end=-1,sum=0;\n"
    " try{var r=new RegExp(word,\"i\");test=function(n){return r.test(n)};}\n"
    " catch(e){var l=word.toLowerCase();test=function(n){return n.toLowerCase().indexOf(l)>=0};}\n"
    " frames.forEach(function(f){f.hit=word!==\"\"&&test(f.name);f.g.classList.toggle(\"hit\",f.hit);});\n"
    " frames.filter(function(f){return f.hit}).sort(function(a,b){return "
    "a.s-b.s||b.v-a.v}).forEach(function(f){\n"
    "  var from=Math.max(f.s,end);if(f.s+f.v>from){sum+=f.s+f.v-from;end=f.s+f.v;}});\n"
    " get(\"matched\").textContent=word===\"\"?\"\":\"matched: \"+(100*sum/all.v).toFixed(1)+\" %\";}\n"
    "function resize(){width=Math.max(400,window.innerWidth||1200);svg.setAttribute(\"width\",width);\n"
    " svg.removeAttribute(\"viewBox\");get(\"title\").setAttribute(\"x\",width/2);\n"
    " get(\"box\").setAttribute(\"x\",width-220);get(\"matched\").setAttribute(\"x\",width-232);draw();}\n"
    "frames.forEach(function(f){\n"
    " f.g.addEventListener(\"click\",function(){zoom(f)});\n"
    " f.g.addEventListener(\"mouseover\",function(){get(\"details\").textContent=f.name+\"  \"+f.info;});\n"
    " f.g.addEventListener(\"mouseout\",function(){get(\"details\").textContent=\"\";});});\n"
    "get(\"reset\").addEventListener(\"click\",function(){zoom(all)});\n"
    "var input=document.querySelector(\"#box input\");\n"
    "input.addEventListener(\"input\",function(){search(input.value)});\n"
    "window.addEventListener(\"keydown\",function(e){\n"
    " if(e.key===\"Escape\"){input.value=\"\";search(\"\");zoom(all);}\n"
    " if((e.ctrlKey||e.metaKey)&&e.key===\"f\"){e.preventDefault();input.focus();}});\n"
    "window.addEventListener(\"resize\",resize);resize();\n"
    "})();\n";

struct picture {
    FILE *out;
    const struct flame *flame;
    uint64_t whole;
    uint64_t least;   /* smaller frames are not drawn */
    size_t ties_left; /* so many more of this value are */
    size_t left_out;
};

static void write_escaped(FILE *out, const char *text)
{
    static const char *const escapes[256] = {
        ['&'] = "&amp;", ['<'] = "&lt;", ['>'] = "&gt;", ['"'] = "&quot;", ['\''] = "&#39;"};
    for (; *text; text++) {
        const char *escape = escapes[(unsigned char)*text];
        if (escape)
            fputs(escape, out);
        else
            fputc(*text, out);
    }
}

static int compare_values(const void *a, const void *b)
{
    return ORDER(*(const uint64_t *)b, *(const uint64_t *)a);
}

/* A parent is at least as large as its children and comes first, so no frame lacks its parent. */
static void find_least(struct picture *picture)
{
    const struct flame_tree *tree = &picture->flame->tree;
    picture->least = 1;
    picture->ties_left = FRAMES_MAX;
    if (tree->count <= FRAMES_MAX)
        return;
    uint64_t *values = xcalloc(tree->count, sizeof *values);
    for (size_t i = 0; i < tree->count; i++)
        values[i] = flame_node_value(&tree->nodes[i]);
    qsort(values, tree->count, sizeof *values, compare_values);
    picture->least = values[FRAMES_MAX - 1];
    for (size_t i = 0; values[i] > picture->least; i++)
        picture->ties_left--;
    free(values);
}

static bool is_drawn(struct picture *picture, const struct flame_node *node)
{
    uint64_t value = flame_node_value(node);
    if (value == picture->least && picture->ties_left) {
        picture->ties_left--;
        return true;
    }
    picture->left_out += value <= picture->least;
    return value > picture->least;
}

/* Red: grew; blue: shrank. */
static void write_fill(FILE *out, const struct flame_node *node)
{
    double old = (double)node->total[FLAME_OLD], new = (double)node->total[FLAME_NEW];
    double larger = old > new ? old : new, change = larger > 0 ? (new - old) / larger : 0;
    double strength = (change < 0 ? -change : change) / CHANGE_FULL;
    strength = strength < CHANGE_NONE / CHANGE_FULL ? 0 : strength < 1 ? 0.15 + 0.85 * strength : 1;
    int weak = 235 - (int)(150 * strength);
    if (strength == 0)
        fputs(" fill=\"#e4e4e4\"", out);
    else if (change > 0)
        fprintf(out, " fill=\"rgb(245,%d,%d)\"", weak, weak);
    else
        fprintf(out, " fill=\"rgb(%d,%d,250)\"", weak, weak);
}

/* The lines of a tooltip after the name. */
static void write_info(const struct picture *picture, const struct flame_node *node)
{
    static const char *const units[] = {" ns", " ns", " bytes", " launches"};
    char number[TEXT_NUMBER_BYTES], old[TEXT_NUMBER_BYTES];
    const struct flame *flame = picture->flame;
    uint64_t value = flame_node_value(node);
    if (!flame->is_diff) {
        fprintf(picture->out, "%s, %.2f %%", flame_value(flame, number, value),
                100 * (double)value / (double)picture->whole);
        if (flame->weight != FLAME_LAUNCHES)
            fprintf(picture->out, "\n%" PRIu64 "%s", value, units[flame->weight]);
        return;
    }
    fprintf(picture->out, "old %s, new %s", flame_value(flame, old, node->total[FLAME_OLD]),
            flame_value(flame, number, node->total[FLAME_NEW]));
    if (node->total[FLAME_OLD])
        fprintf(picture->out, " (%+.1f %%)",
                100 * ((double)node->total[FLAME_NEW] / (double)node->total[FLAME_OLD] - 1));
    fprintf(picture->out, "\n%" PRIu64 " and %" PRIu64 "%s", node->total[FLAME_OLD], node->total[FLAME_NEW],
            units[flame->weight]);
}

/* As much of the name as fits, for viewers without scripts. */
static void write_label(FILE *out, const char *name, double width)
{
    char label[WIDTH / 4];
    size_t columns = width > 6 ? (size_t)((width - 6) / CHAR_WIDTH) : 0, used = 0;
    if (columns < 3)
        return;
    const char *at = name;
    for (size_t shown = 0; *at && shown < columns && used + 4 < sizeof label; shown++) {
        const char *before = at;
        text_next_char(&at);
        memcpy(label + used, before, (size_t)(at - before));
        used += (size_t)(at - before);
    }
    label[used] = 0;
    write_escaped(out, label);
    if (*at)
        fputs("..", out);
}

static void write_frame(const struct picture *picture, uint32_t number, uint64_t start, size_t depth)
{
    FILE *out = picture->out;
    const struct flame_tree *tree = &picture->flame->tree;
    const struct flame_node *node = &tree->nodes[number];
    const struct flame_frame *frame = number ? &tree->frames[node->frame] : NULL;
    uint64_t value = flame_node_value(node);
    double x = WIDTH * (double)start / (double)picture->whole,
           width = WIDTH * (double)value / (double)picture->whole;
    size_t y = TOP + depth * ROW_HEIGHT;
    char *name = frame ? flame_frame_text(frame) : xstrdup("all");
    fprintf(out, "<g class=\"f %s\" data-s=\"%" PRIu64 "\" data-v=\"%" PRIu64 "\"><title>",
            picture->flame->is_diff ? "di"
            : frame                 ? classes[frame->kind]
                                    : "ro",
            start, value);
    write_escaped(out, name);
    fputc('\n', out);
    write_info(picture, node);
    fprintf(out, "</title><rect x=\"%.2f\" y=\"%zu\" width=\"%.2f\" height=\"%d\"", x, y, width,
            ROW_HEIGHT - 1);
    if (picture->flame->is_diff)
        write_fill(out, node);
    fprintf(out, "/><text x=\"%.2f\" y=\"%zu\">", x + 3, y + 12);
    write_label(out, name, width);
    fputs("</text></g>\n", out);
    free(name);
}

/* All frames, or only their depth. */
static size_t write_frames(struct picture *picture, bool is_dry)
{
    const struct flame_tree *tree = &picture->flame->tree;
    size_t deepest = 0, depth_capacity = 0, depth = 0;
    uint64_t *starts = NULL; /* by depth: where the next frame starts */
    find_least(picture);
    picture->left_out = 0;
    for (uint32_t at = 0; at != FLAME_NONE; at = flame_tree_next(tree, at)) {
        const struct flame_node *node = &tree->nodes[at];
        depth = 0;
        for (uint32_t up = at; up; up = tree->nodes[up].parent)
            depth++;
        starts = xgrow(starts, &depth_capacity, depth + 2, sizeof *starts);
        if (at == 0)
            starts[0] = 0;
        uint64_t start = starts[depth];
        starts[depth] += flame_node_value(node);
        starts[depth + 1] = start;
        if (!is_drawn(picture, node))
            continue;
        deepest = depth > deepest ? depth : deepest;
        if (!is_dry)
            write_frame(picture, at, start, depth);
    }
    free(starts);
    return deepest;
}

static void write_title(const struct picture *picture)
{
    static const char *const titles[] = {"GPU time", "Time in waits for the GPU", "Copied bytes", "Launches"};
    char old[TEXT_NUMBER_BYTES], new[TEXT_NUMBER_BYTES];
    const struct flame *flame = picture->flame;
    const struct flame_node *root = &flame->tree.nodes[0];
    fprintf(picture->out, "%s by call stack: ", titles[flame->weight]);
    if (flame->is_diff)
        fprintf(picture->out, "old %s, new %s", flame_value(flame, old, root->total[FLAME_OLD]),
                flame_value(flame, new, root->total[FLAME_NEW]));
    else
        fputs(flame_value(flame, new, root->total[FLAME_NEW]), picture->out);
}

static void write_legend(const struct picture *picture, size_t bottom)
{
    FILE *out = picture->out;
    fprintf(out, "<text id=\"legend\" x=\"10\" y=\"%zu\">%s", bottom,
            picture->flame->is_diff
                ? "Red grew, blue shrank. Width: the sum of both runs. Frames without line numbers."
                : "Orange: Python, light: libraries. Blue: native. Green: GPU work or call. Gray: no stack.");
    if (picture->left_out)
        fprintf(out, " %zu frames below %.4f %% are not drawn.", picture->left_out,
                100 * (double)picture->least / (double)picture->whole);
    fputs("</text>\n", out);
}

void flame_write_svg(FILE *out, const struct flame *flame)
{
    struct picture picture = {.out = out, .flame = flame, .whole = flame_node_value(&flame->tree.nodes[0])};
    bool is_empty = picture.whole == 0;
    picture.whole = is_empty ? 1 : picture.whole;
    size_t height = TOP + (write_frames(&picture, true) + 1) * ROW_HEIGHT + 56;
    fprintf(
        out,
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" id=\"top\" "
        "width=\"%d\" height=\"%zu\" viewBox=\"0 0 %d %zu\">\n<style>\n%s</style>\n"
        "<rect class=\"bg\" width=\"100%%\" height=\"100%%\"/>\n<text id=\"title\" x=\"%d\" y=\"22\" "
        "text-anchor=\"middle\">",
        WIDTH, height, WIDTH, height, style, WIDTH / 2);
    write_title(&picture);
    fprintf(
        out,
        "</text>\n<text id=\"reset\" class=\"hide\" x=\"10\" y=\"48\">Reset zoom</text>\n<text "
        "id=\"matched\" x=\"%d\" y=\"48\" text-anchor=\"end\"></text>\n<foreignObject id=\"box\" x=\"%d\" "
        "y=\"32\" width=\"212\" height=\"26\"><input xmlns=\"http://www.w3.org/1999/xhtml\" "
        "type=\"search\" placeholder=\"search (regex)\"/></foreignObject>\n<g id=\"frames\">\n",
        WIDTH - 232, WIDTH - 220);
    if (is_empty)
        fprintf(out, "<text x=\"10\" y=\"%d\">There is nothing to show.</text>\n", TOP + 12);
    else
        write_frames(&picture, false);
    fprintf(out, "</g>\n<text id=\"details\" x=\"10\" y=\"%zu\"></text>\n", height - 34);
    write_legend(&picture, height - 12);
    if (!is_empty)
        fprintf(out, "<script>//<![CDATA[\n%s//]]></script>\n", script);
    fputs("</svg>\n", out);
}

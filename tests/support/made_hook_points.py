"""Source files of an engine that has all hook points of python/cuspan/_hook_points.py, and nothing else."""

from __future__ import annotations

from pathlib import Path


def made_sources(engine, without: str = "") -> dict[str, str]:
    """By path. `without`: a member to leave out."""
    classes: dict[tuple[str, str], dict[str, str]] = {}
    for point in engine.points:
        made = classes.setdefault((point.module.split("|")[0], point.owner.split("|")[0]), {})
        for word in point.members.split():
            name, _, arguments = word.split("|")[0].rstrip(")").partition("(")
            if name != without:
                first = ["self", *arguments.split(",")] if point.owner else arguments.split(",")
                made[name] = f"def {name}({', '.join(filter(None, first))}): pass" if "(" in word else f"{name}: int = 0"
    files: dict[str, str] = {f"{engine.package}/__init__.py": ""}
    for (module, owner), members in classes.items():
        indent = "    " if owner else ""
        text = "".join(f"{indent}{line}\n" for line in members.values())
        path = f"{module.replace('.', '/')}.py" if module != engine.package else f"{module}/__init__.py"
        files[path] = files.get(path, "") + (f"class {owner}:\n{text or '    pass'}\n" if owner else text or "\n")
    return files


def write_engine(folder: Path, engine, version: str, without: str = "") -> None:
    """Installs it into a folder for PYTHONPATH."""
    for path, text in made_sources(engine, without).items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    name = engine.distributions[0].replace("-", "_")
    info = folder / f"{name}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {engine.distributions[0]}\nVersion: {version}\n")

"""Contracts for import-linter that say what is allowed: what they do not list is forbidden, also in modules yet to be written."""

import grimp
from importlinter import Contract, ContractCheck, fields, output
from importlinter.application import contract_utils


class AllowListContract(Contract):
    """The modules of some packages import only modules of these packages and of those that are listed.

    `allowed` lists packages of ours, with all that is in them. `libraries` lists the others, those of the standard library too;
    without it, all are allowed. `ignore_imports` names single imports that are allowed beside.
    """

    type_name = "allow_list"

    packages = fields.ListField(subfield=fields.StringField())
    allowed = fields.SetField(subfield=fields.StringField(), required=False)
    libraries = fields.SetField(subfield=fields.StringField(), required=False)
    ignore_imports = fields.SetField(subfield=fields.ImportExpressionField(), required=False)

    def check(self, graph: grimp.ImportGraph, verbose: bool) -> ContractCheck:  # noqa: ARG002 - as it is called
        contract_utils.remove_ignored_imports_and_report(
            graph=graph, ignore_imports=self.ignore_imports, unmatched_alerting=contract_utils.AlertLevel.ERROR
        )
        ours = [*self.packages, *(self.allowed or ())]
        if missing := [name for name in ours if name not in graph.modules]:
            raise ValueError(f"There is no package {', '.join(missing)}.")
        return _check(
            (source, imported)
            for source in graph.modules
            if _is_in(source, self.packages)
            for imported in graph.find_modules_directly_imported_by(source)
            if not self._allows(graph, imported, ours)
        )

    def _allows(self, graph: grimp.ImportGraph, imported: str, ours: list[str]) -> bool:
        if graph.is_module_squashed(imported):
            return self.libraries is None or imported in self.libraries
        return _is_in(imported, ours)

    def render_broken_contract(self, check: ContractCheck) -> None:
        _render(check)


class ReservedContract(Contract):
    """Some libraries are imported by modules of some packages only."""

    type_name = "reserved"

    libraries = fields.ListField(subfield=fields.StringField())
    packages = fields.ListField(subfield=fields.StringField())

    def check(self, graph: grimp.ImportGraph, verbose: bool) -> ContractCheck:  # noqa: ARG002 - as it is called
        return _check(
            (source, library)
            for library in self.libraries
            if library in graph.modules
            for source in graph.find_modules_that_directly_import(library)
            if not _is_in(source, self.packages)
        )

    def render_broken_contract(self, check: ContractCheck) -> None:
        _render(check)


def _is_in(module, packages):
    return any(module == package or module.startswith(f"{package}.") for package in packages)


def _check(wrong):
    found = sorted(wrong)
    return ContractCheck(kept=not found, metadata={"wrong": found})


def _render(check):
    for source, imported in check.metadata["wrong"]:
        output.print_error(f"{source} must not import {imported}.", bold=False)
    output.new_line()
